#pragma once
// One config, several ways: a grid or a list of overrides, each over the same seeds.
//
//   base: ../quickstart.yaml               # relative to this file
//   set: {run.max_seconds: 120}            # of every cell
//   grid:                                  # every combination …
//     advantage.name: [grpo, trloo]
//     returns.discount: [0.4, 1]
//   cells:                                 # … or just these; name: what to call it
//     - {name: hrd, advantage.name: hrd, reward.name: tritonrl}
//     - {name: uniform, advantage.name: grpo}
//   seeds: [1, 2, 3]
//   share_start: true                      # cells learn from one cold start per seed
//   dir: runs/advantage                    # default: runs/ and the name of this file

#include <filesystem>
#include <string>
#include <vector>

#include "trainer/config/config.h"

namespace temper::trainer {

// One run of a sweep. `name` names its directory in the sweep's: what it varies and its seed.
struct SweepCell {
  std::string name, variant;
  RunConfig config;
  std::string start;  // the name of the shared cold start from which it begins; empty if it has its own
};

struct Sweep {
  std::filesystem::path dir;
  // Cold starts that cells begin from, one per seed and starting point, in starts/; empty without
  // share_start.
  std::vector<SweepCell> starts;
  std::vector<SweepCell> cells;
};

// Reads the file; `overrides` ("key=value") come on top of what every cell sets, `dir` in place of the file's
// where it is not empty. Errors: ConfigError with file and line (unknown key, empty grid, a cell twice, no
// seed, an option of the base or of a cell that is unknown, out of range or contradicts another).
Sweep read_sweep(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                 const std::string& dir = "");

}  // namespace temper::trainer
