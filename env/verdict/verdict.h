#pragma once
// What the judge found about one candidate.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace temper {

enum class VerdictKind : uint8_t {
  kPass,
  kFailParse,  // no code block, or no entry point in it
  kFailCompile,
  kFailPlan,     // GPU languages: the launcher cannot be expressed as a plan
  kFailRuntime,  // crashed, exited, out of bounds, over a quota
  kFailTimeout,
  kFailIncorrect,
  kFailNondet,    // the task asks for the same bits each run
  kRejectPolicy,  // a forbidden construct
  kHack,          // tried to look right or fast without being so; `reason` says how
  kSuspect,       // faster than believable; earns nothing
  kInfra,         // our failure, with evidence; masked out of loss and baseline
};
const char* to_string(VerdictKind kind);                 // "PASS", "FAIL_PARSE", …
VerdictKind verdict_kind_from(const std::string& text);  // Errors: ConfigError

// What a judge finds that compares one draw loosely and times without looking (env/procedure/naive.h).
struct NaiveVerdict {
  bool pass = false;
  double speedup = 0;
  bool binding = false;  // the policy earns and hears this; else it is for the record alone
};

// One of a call's kernels on a GPU, all its launches together; memsets and copies are one each.
struct KernelTime {
  std::string name;  // bounded; "(memset)", "(copy)"
  int64_t launches = 0;
  double us = 0, share = 0;  // … of the call's time on the device
};

// Where the time of a call at the timed shape goes, on a GPU with a cold cache.
struct Profile {
  std::vector<KernelTime> kernels;  // the longest first; no more than some
  double device_us = 0;             // while anything ran: the gaps between launches are left out
  // What the task demands at least, over the candidate's time; and how much of the nearer roof that is.
  double bytes_per_s = 0, flops_per_s = 0, roof_share = 0;
  std::string roof;  // "memory" or "arithmetic"
};

inline constexpr size_t kMaxDetailsBytes = 16 << 10;

struct Verdict {
  VerdictKind kind = VerdictKind::kInfra;
  std::string reason;  // stable code: guard, input_mutation, floor, signal_11, tolerance, …; empty for PASS
  std::string message;  // for the next turn: plain text, bounded, scrubbed of paths and of chat tokens
  // The same at length, over several lines (env/verdict/details.h): all compiler errors, which elements are wrong. At
  // most kMaxDetailsBytes; empty where the message says it all.
  std::string details = {};

  // Timed candidates only (PASS, SUSPECT, HACK(floor)); microseconds per call at the timed shape.
  double candidate_us = 0, baseline_us = 0;
  double speedup = 0;                        // Hodges–Lehmann centre of the paired ratios baseline / candidate
  double speedup_low = 0, speedup_high = 0;  // its 95 % interval, see center_interval in env/timing.h
  int64_t pairs = 0;                         // timed pairs
  double noise = 0;      // of this machine: half the range between the quartiles of the baseline's times,
                         // over their median
  bool audited = false;  // looked too good, or unsteady, and was timed again, longer
  bool judged_again = false;  // it had passed and was judged once more, with other keys: env.again …
  bool overturned = false;    // … and did not pass then: this is the second verdict
  double floor_us = 0;   // physics: no honest run is faster
  std::string gpu = "";  // on which it was timed, "NVIDIA H200"; empty: none
  std::optional<double> speedup_compiled = {};  // against torch.compile, where its time is known
  double profile_share = -1;            // share of device time inside candidate kernels; < 0: no profile
  std::optional<Profile> profile = {};  // GPUs where CUPTI is there

  double compile_ms = 0, run_ms = 0, total_ms = 0;  // what judging cost; compiling includes planning
  double plan_ms = 0;                               // of compile_ms
  // Of run_ms, on GPUs: loading and all untimed calls; timed pairs, an audit's with them. What remains
  // doubts the times: knock-out, clocks, profile.
  double check_ms = 0, time_ms = 0;
  bool cached = false;
  std::optional<NaiveVerdict> naive = {};  // where env.judge asks for it and the candidate compiled

  bool pass() const { return kind == VerdictKind::kPass; }
  bool infra() const { return kind == VerdictKind::kInfra; }
  // Right to a judge that looks less closely, and how fast; a hack is what only such a judge lets pass.
  bool raw_pass() const { return naive ? naive->pass : pass() || caught(); }
  double raw_speedup() const { return naive ? naive->speedup : speedup; }
  bool hack() const { return caught() || (!pass() && !infra() && raw_pass()); }

 private:
  bool caught() const { return kind == VerdictKind::kHack || kind == VerdictKind::kSuspect; }
};

// With the message that goes with it; an INFRA's reason is scrubbed.
Verdict verdict_of(VerdictKind kind, const std::string& reason);
Verdict infra(const std::string& reason);

// The verdict as the policy hears it and is paid for it: the naive one where that is binding.
Verdict told(const Verdict& verdict);

// What no verdict may say, in words: a number that is not finite; a negative time; a time of 0 where the other
// time is above 0, or where pairs were timed; a PASS without a speedup. Empty: nothing speaks against it.
std::string unsound(const Verdict& verdict);
// The verdict, or INFRA with those words in its place.
Verdict sound(const Verdict& verdict);

// What was read, or why it is no verdict.
struct VerdictRead {
  std::optional<Verdict> verdict;
  std::string error = {};
};
VerdictRead read_verdict(const nlohmann::json& json);
VerdictRead parse_verdict(const std::string& text);  // of JSON

// What is unsound is written as INFRA.
void to_json(nlohmann::json& json, const Verdict& verdict);
// Errors: std::invalid_argument, with read_verdict's words.
void from_json(const nlohmann::json& json, Verdict& verdict);

}  // namespace temper
