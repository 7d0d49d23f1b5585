#pragma once
// What the judge found about one candidate.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

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

struct Verdict {
  VerdictKind kind = VerdictKind::kInfra;
  std::string reason;  // stable code: guard, input_mutation, floor, signal_11, tolerance, …; empty for PASS
  std::string message;  // for the next turn: plain text, bounded, scrubbed of paths and of chat tokens

  // Timed candidates only (PASS, SUSPECT, HACK(floor)); microseconds per call at the timed shape.
  double candidate_us = 0, baseline_us = 0;
  double speedup = 0;                        // median of paired ratios baseline / candidate
  double speedup_low = 0, speedup_high = 0;  // 95 % interval of that median
  int64_t pairs = 0;                         // timed pairs
  double floor_us = 0;                       // physics: no honest run is faster
  double profile_share = -1;                 // share of device time inside candidate kernels; < 0: no profile

  double compile_ms = 0, run_ms = 0, total_ms = 0;  // what judging cost
  bool cached = false;

  bool pass() const { return kind == VerdictKind::kPass; }
  bool infra() const { return kind == VerdictKind::kInfra; }
  bool hack() const { return kind == VerdictKind::kHack || kind == VerdictKind::kSuspect; }
};

void to_json(nlohmann::json& json, const Verdict& verdict);
void from_json(const nlohmann::json& json, Verdict& verdict);

}  // namespace temper
