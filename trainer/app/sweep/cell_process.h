#pragma once
// A cell as a child process of this same program.

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/machine/child_process.h"

namespace temper::trainer {

// The part of the machine that cells which run side by side do not share.
struct MachineShare {
  std::vector<int> cores;
  std::string gpu;  // its CUDA_VISIBLE_DEVICES; if empty, the same as this process's
};

// Killed when destroyed, and when this process ends whatever way. Ctrl-C in the terminal does not reach it.
class CellProcess {
 public:
  // Runs this program with the arguments `words` and its output in `log`. Errors: WorldError if it cannot be started.
  static CellProcess start(const std::vector<std::string>& words, const MachineShare& share,
                           const std::filesystem::path& log);
  // Its exit code once it has ended; 128 + N where signal N ended it.
  std::optional<int> poll();
  // Asks it to finish its step and save.
  void stop();

 private:
  explicit CellProcess(ChildProcess process) : process_(std::move(process)) {}
  ChildProcess process_;
};

// These cores in `count` parts, part i with GPU i where there is one. count: 1 to the number of cores.
std::vector<MachineShare> split_machine(int64_t count, const std::vector<int>& cores,
                                        const std::vector<std::string>& gpus);

}  // namespace temper::trainer
