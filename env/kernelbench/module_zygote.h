#pragma once
// A box in which Python has imported what candidates need, and forks a process for each (python/zygote_main.py). Importing takes
// seconds, a context on a GPU some tenths of one. A forked process has the box's files and namespaces of its own: it sees
// neither the process that forked it nor others. What forks never runs a candidate's code and never asks CUDA's driver.

#include <memory>

#include "env/kernelbench/module_process.h"

namespace temper::env {

class ModuleZygote {
 public:
  // Starts it and returns at once. Errors: WorldError.
  explicit ModuleZygote(const ModuleBoxOptions& options);
  // Waits until it can fork. Errors: WorldError in its words if it cannot.
  void wait_ready() { server_->wait_ready(); }
  pid_t pid() const { return server_->pid(); }

  struct Forked {
    int exchange = -1;  // descriptors
    int64_t exchange_bytes = 0;
    int clock = -1;
    uid_t user = 0;  // that it becomes if we are root
  };
  // A process that goes on to lock itself up; its wait_ready() waits for that. It ends with this one. Errors: WorldError, also
  // for all that the process is asked later, if this one has ended.
  ModuleProcess fork(const Forked& forked);

 private:
  ModuleBoxOptions options_;
  std::shared_ptr<ModuleProcess> server_;  // which also says how those that it has forked have ended
};

}  // namespace temper::env
