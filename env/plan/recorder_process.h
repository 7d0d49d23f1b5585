#pragma once
// The broker's side of a plan box: a process without a GPU that locks itself up, becomes one CUDA candidate's
// host half, and turns what its launcher does into plans. Single use.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "env/box/namespaces.h"
#include "env/box/shared_memory.h"
#include "env/plan/gate.h"
#include "env/plan/recorder_protocol.h"

namespace temper::env {

struct RecorderOptions {
  std::string program;  // temper-recorder
  int64_t memory_bytes = int64_t(1) << 30;
  int64_t cpu_s = 10;
  int64_t workspace_bytes = int64_t(8) << 30;  // what a candidate may allocate on the GPU
  uid_t user = 65534;                          // the user that it becomes if we are root
};

class RecorderProcess {
 public:
  // Starts it and returns at once. Errors: WorldError, also where Temper was built without a CUDA toolkit.
  explicit RecorderProcess(const RecorderOptions& options);

  // Waits until it is locked up. Errors: WorldError in its words if a step failed.
  void wait_ready();
  bool user_dropped() const { return user_dropped_; }

  // Loads the candidate; untrusted code runs from here on. `budget` bounds this and all plans together. Returns the
  // failure that the candidate caused, if any.
  Found load(const std::string& object, const std::string& cubin, const GpuTarget& target,
             std::chrono::nanoseconds budget);
  // The plan of one shape: parsed, its pointers inside the buffers, its launches such that CUDA accepts them.
  Found record(const PlanBuffers& buffers, const std::vector<int64_t>& dims, LaunchPlan& plan);

 private:
  Found exchange(RecorderRequest request, RecorderStatus wanted, RecorderReply& reply);
  Finding death();

  RecorderOptions options_;
  Fd socket_;
  Mapping arena_;
  BoxProcess process_;
  Cubin cubin_;
  GpuTarget target_;
  uint32_t sequence_ = 0;
  bool ready_ = false, user_dropped_ = false;
  std::chrono::nanoseconds budget_{0};
};

}  // namespace temper::env
