#pragma once
// What KernelBench itself would have found about a candidate: its seeds, trials, tolerance and timing, so that numbers can be
// held beside published ones. Nothing is rewarded for it; the verdict is what is believed.
//
// Source: KernelExecResult of KernelBench at 423217d. Its metadata follows from these members
//         (trainer/evaluate/kernelbench_files.h).

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace temper::env {

// Milliseconds a call over num_trials of them; num_trials 0: not timed.
struct RuntimeStats {
  double mean = 0, std = 0, min = 0, max = 0;
  int64_t num_trials = 0;
  bool timed() const { return num_trials > 0; }
};

inline constexpr const char* kOutputMismatch = "Output mismatch";  // KernelBench's words for wrong values

struct ComparableResult {
  // compiled: the source could be imported and has a ModelNew. correctness: all trials agreed.
  bool compiled = false, correctness = false;
  int64_t trials_right = 0, trials = 0;  // "(trials_right / trials)"; trials 0: none was begun
  // Of each trial whose output has the right shape and is wrong, over its elements; may be NaN or infinite.
  std::vector<double> max_difference = {}, avg_difference = {};
  RuntimeStats runtime = {}, ref_runtime = {};
  // What was thrown: while it was compiled (not compiled), called (not correct) or timed (correct).
  std::string error_name = {}, error = {}, traceback = {};
  std::string issue = {};  // kOutputMismatch, or which shape was expected
  bool timed_out = false;
  bool excessive_speedup = false;  // more than kExcessiveSpeedup times as fast as the reference
};

inline constexpr double kExcessiveSpeedup = 10;
inline constexpr size_t kMaxComparableText = 4 << 10;  // bytes of each text that is kept
inline constexpr size_t kMaxComparableTrials = 64;     // differences that are kept

// Longer texts and lists are cut. Errors of from_json: std::exception where a field is missing or of another type.
void to_json(nlohmann::json& json, const ComparableResult& result);
void from_json(const nlohmann::json& json, ComparableResult& result);

// Of times in milliseconds, to 3 significant digits as KernelBench writes them; of none, the default. `std` is that of the
// whole population, as numpy's.
RuntimeStats runtime_stats(const std::vector<double>& times_ms);

}  // namespace temper::env
