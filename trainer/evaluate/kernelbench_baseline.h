#pragma once
// Times of references that somebody has published, in KernelBench's own form:
//
//   results/timing/GPU/baseline_time_torch.json   {"level1": {"19_ReLU.py": {mean, std, min, max, num_trials, hardware, device}}}
//
// Source: scripts/generate_baseline_time.py of KernelBench at 423217d. Times are in ms.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "env/verdict/comparable.h"

namespace temper::trainer {

struct PublishedTime {
  env::RuntimeStats stats;  // not timed where the file lacks the problem
  std::string hardware;     // "NVIDIA H100 80GB HBM3"
};

class KernelBenchBaseline {
 public:
  // Errors: ConfigError naming the option eval.kernelbench_baseline, the file and the place in it.
  explicit KernelBenchBaseline(const std::filesystem::path& file);

  // By level and "19_ReLU.py"; with another name in that level by the number in front.
  PublishedTime find(int64_t level, const std::string& file) const;

 private:
  std::map<std::pair<int64_t, std::string>, PublishedTime> times_;
};

}  // namespace temper::trainer
