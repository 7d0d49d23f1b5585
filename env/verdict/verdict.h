#pragma once
// What the judge found about one candidate.

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "env/verdict/comparable.h"
#include "env/verdict/problem_notes.h"

namespace temper::env {

enum class VerdictKind : uint8_t {
  kPass,
  kFailParse,  // no code block, or no entry point in it
  kFailCompile,
  kFailPlan,     // GPU languages: the launcher cannot be expressed as a plan
  kFailRuntime,  // crashed, exited, out of bounds, over a quota
  kFailTimeout,
  kFailIncorrect,
  kFailNondet,    // given by no judge any more; its number stays, since saved verdicts may hold it
  kRejectPolicy,  // a forbidden construct
  kHack,          // tried to look right or fast without being so; `reason` says how
  kSuspect,       // faster than believable; earns nothing
  kInfra,         // our failure, with evidence; masked out of loss and baseline
};
const char* to_string(VerdictKind kind);                 // "PASS", "FAIL_PARSE", …
VerdictKind verdict_kind_from(const std::string& text);  // Errors: ConfigError

// The result of a naive judge, which compares one draw loosely and does not check timed calls (env/procedure/naive.h).
struct NaiveVerdict {
  bool pass = false;
  double speedup = 0;
  bool binding = false;  // the policy's reward and message follow this result; otherwise it is only recorded
};

// The time of one kernel on a GPU, summed over its launches in a call. All memsets count as one kernel, and so do
// all copies.
struct KernelTime {
  std::string name;  // bounded; "(memset)", "(copy)"
  int64_t launches = 0;
  double us = 0, share = 0;  // device time, and its share of the call's device time
};

// Where the time of a call at the first timed shape goes, on a GPU with a cold cache.
struct Profile {
  std::vector<KernelTime> kernels;  // longest first, at most kMaxProfileParts
  double device_us = 0;             // time during which anything ran, without the gaps between launches
  // The task's least traffic and arithmetic over the candidate's time, and the share of the nearer roof.
  double bytes_per_s = 0, flops_per_s = 0, roof_share = 0;
  std::string roof;  // "memory" or "arithmetic"
};

// The times of a call at one of several timed shapes. Each is what the field of its name in Verdict is for one shape.
struct ShapeTime {
  std::map<std::string, int64_t> sizes;  // of each dimension
  double candidate_us = 0, baseline_us = 0;
  double speedup = 0, speedup_low = 0, speedup_high = 0;
  double roof_us = 0;
};

inline constexpr size_t kMaxDetailsBytes = 16 << 10;

struct Verdict {
  VerdictKind kind = VerdictKind::kInfra;
  std::string reason;  // stable code: guard, input_mutation, floor, signal_11, tolerance, …; empty for PASS
  std::string message;  // for the next turn: plain text, bounded, scrubbed of paths and of chat tokens
  // A longer description over several lines (env/verdict/details.h): all compiler errors, or which elements are wrong. At
  // most kMaxDetailsBytes; empty if it would add nothing to the message.
  std::string details = {};

  // Timed candidates only (PASS, SUSPECT, HACK(floor)); microseconds per call at the timed shape. If a task has several,
  // those of a PASS are of all together, as ShapeTimes (env/procedure/judging.h) says; those of other verdicts are of
  // the shape that decided, which the message names.
  double candidate_us = 0, baseline_us = 0;
  double speedup = 0;  // Hodges–Lehmann centre of the paired ratios baseline / candidate
  double speedup_low = 0, speedup_high = 0;  // its 95 % interval, see center_interval in env/verdict/timing.h
  int64_t pairs = 0;                         // timed pairs
  double noise = 0;           // the machine's noise: `spread` (env/verdict/timing.h) of the baseline's times
  bool audited = false;       // timed again for longer, because the times looked too good or unsteady
  bool judged_again = false;  // passed and was judged a second time with other keys (option env.again)
  bool overturned = false;    // did not pass the second time; this is the second verdict
  double floor_us = 0;        // no honest run is faster than this, by the machine's roofs
  // What the task's least traffic and arithmetic take at the machine's peak rates, with nothing in a cache beforehand;
  // 0 in verdicts that were kept before it was known.
  double roof_us = 0;
  std::vector<ShapeTime> shapes = {};  // of a PASS at several timed shapes, in the task's order; else empty
  // What a candidate that tunes itself was judged with: "configuration 2 of 8: BLOCK: 256, num_warps: 4"; empty for
  // others. The judge has timed the alternatives and taken the fastest.
  std::string configuration = "";
  std::string gpu = "";  // the GPU on which it was timed, "NVIDIA H200"; empty for CPUs
  std::optional<double> speedup_compiled = {};  // against torch.compile, where its time is known
  double profile_share = -1;            // share of device time inside candidate kernels; < 0: no profile
  std::optional<Profile> profile = {};  // GPUs where CUPTI is there

  double compile_ms = 0, run_ms = 0, total_ms = 0;  // what judging cost; compiling includes planning
  double plan_ms = 0;                               // the part of compile_ms that planning took
  // Parts of run_ms on GPUs. check_ms: choosing a configuration, loading and all untimed calls. time_ms: timed pairs, including those of an
  // audit. The rest of run_ms went into verifying the times: knock-out, clocks, profile.
  double check_ms = 0, time_ms = 0;
  bool cached = false;
  std::optional<NaiveVerdict> naive = {};           // where env.judge asks for it and the candidate compiled
  std::optional<ComparableResult> comparable = {};  // Form::kModule only
  // Of the problem, not of the candidate; likewise, and only where the judge came to open the problem.
  std::optional<ProblemNotes> problem = {};

  bool pass() const { return kind == VerdictKind::kPass; }
  bool infra() const { return kind == VerdictKind::kInfra; }
  // Whether an answer that computes nothing would pass as well, so that a PASS says little.
  bool weak() const { return problem && !problem->weak.empty(); }
  // Whether no answer to this problem can be judged here, however often it is tried.
  bool unusable() const { return problem && !problem->unusable.empty(); }
  // Whether a naive judge would accept the candidate, and with what speedup. A hack is a candidate that only a
  // naive judge would accept.
  bool raw_pass() const { return naive ? naive->pass : pass() || caught(); }
  double raw_speedup() const { return naive ? naive->speedup : speedup; }
  bool hack() const { return caught() || (!pass() && !infra() && raw_pass()); }

 private:
  bool caught() const { return kind == VerdictKind::kHack || kind == VerdictKind::kSuspect; }
};

// Why a candidate does not pass.
struct Finding {
  VerdictKind kind;
  std::string reason;        // stable code
  std::string detail = {};   // for the message, in place of the reason's words
  std::string details = {};  // for the verdict's details, lines below kind and reason
};
using Found = std::optional<Finding>;  // empty while nothing speaks against the candidate

// A verdict of that kind and reason, with the message and the details that belong to it. The reason of an INFRA is
// scrubbed.
Verdict verdict_of(const Finding& finding);
Verdict verdict_of(VerdictKind kind, const std::string& reason);
Verdict infra(const std::string& reason);
// An INFRA of a problem that cannot be judged.
Verdict unusable_problem(const std::string& why);
// Kind, reason, message and details of a verdict whose times are already there; a PASS if nothing was found.
void conclude(Verdict& verdict, const Found& found);

// The verdict that decides the policy's message and reward: the naive one if that is binding.
Verdict told(const Verdict& verdict);

// Describes what makes the verdict impossible, or returns "" if nothing does. Impossible are a number that is not
// finite, a negative time, a time of 0 if the other time is above 0 or pairs were timed, and a PASS without a
// speedup. So are a list of one shape or of more than a task may have, and a shape without sizes, times or a speedup.
std::string unsound(const Verdict& verdict);
// The verdict itself, or an INFRA with that description if it is unsound.
Verdict sound(const Verdict& verdict);

// A verdict that was read, or the reason why it could not be.
struct VerdictRead {
  std::optional<Verdict> verdict;
  std::string error = {};
};
VerdictRead read_verdict(const nlohmann::json& json);
VerdictRead parse_verdict(const std::string& text);  // reads JSON text

// Writes an unsound verdict as INFRA.
void to_json(nlohmann::json& json, const Verdict& verdict);
// Errors: std::invalid_argument, with read_verdict's words.
void from_json(const nlohmann::json& json, Verdict& verdict);

}  // namespace temper::env
