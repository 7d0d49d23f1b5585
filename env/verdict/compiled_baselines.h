#pragma once
// How much faster than eager torch.compile is on a task: a file that tools/compiled_baselines writes.
//
//   {"format": 1, "baselines": [{"task", "digest", "shape", "gpu", "driver", "torch", "triton", "eager_us",
//                                "compiled_us", "ratio", "ratio_low", "ratio_high", "pairs", "fullgraph"},
//                                …]}
//
// What is taken from it is the ratio: both its times were taken beside each other, and eager's is taken anew
// beside each candidate, so that clock rates of another day do not matter.

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "env/verdict/verdict.h"

namespace temper {

class CompiledBaselines {
 public:
  // `path` empty: none. Entries of other versions of torch than ours, and of tasks that nobody asks for, are
  // never found. Errors: ConfigError naming file, entry, field, value and what is allowed.
  explicit CompiledBaselines(const std::string& path);

  // Of a candidate for the task of that digest; nothing if it was not timed on a GPU that the file knows.
  std::optional<double> speedup(const std::string& task_digest, const Verdict& verdict) const;

  static const char* torch_version();  // "2.11.0": what the oracle's eager is of

 private:
  std::map<std::pair<std::string, std::string>, double> ratios_;  // by digest and GPU; of several the last
};

}  // namespace temper
