#pragma once
// How much faster than eager torch.compile is on a task: a file that tools/compiled_baselines writes.
//
//   {"format": 1, "baselines": [{"task", "digest", "shape", "gpu", "driver", "torch", "triton", "eager_us",
//                                "compiled_us", "ratio", "ratio_low", "ratio_high", "pairs", "fullgraph"},
//                                …]}
//
// Only the ratio is used. Its two times were measured side by side, and eager is measured again beside each
// candidate, so a different clock rate on another day does not matter.

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "env/verdict/verdict.h"

namespace temper::env {

class CompiledBaselines {
 public:
  // Reads the file at `path`; an empty path gives an empty table. Entries for another version of torch than ours
  // are ignored. Errors: ConfigError naming file, entry, field, value and what is allowed.
  explicit CompiledBaselines(const std::string& path);

  // The candidate's speedup against torch.compile, from its verdict on the task with that digest. Empty if the
  // candidate was not timed on a GPU that the file has an entry for.
  std::optional<double> speedup(const std::string& task_digest, const Verdict& verdict) const;

  static const char* torch_version();  // "2.11.0": what the oracle's eager is of

 private:
  std::map<std::pair<std::string, std::string>, double> ratios_;  // by digest and GPU; later entries win
};

}  // namespace temper::env
