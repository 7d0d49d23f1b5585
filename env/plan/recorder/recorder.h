#pragma once
// The state of the recording CUDA runtime: the candidate's kernels and the run that is being recorded. A launcher
// that does something which a plan cannot express ends here.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "env/plan/launch_rules.h"
#include "env/plan/recorder/recording.h"

namespace temper::env {

class Recorder {
 public:
  static Recorder& get();

  void set_up(Cubin cubin, const GpuTarget& target, int64_t workspace_bytes);
  const GpuTarget& target() const { return target_; }
  const std::vector<PlanKernel>& settings() const { return settings_; }

  void begin_run(const std::vector<int64_t>& inputs, const std::vector<int64_t>& outputs);
  // The buffers of the run that has begun. Call it before the candidate allocates any of its own.
  std::vector<DeviceBuffer> task_buffers() const { return addresses_.of_this_run(); }
  Recording end_run();  // leaves the process where the run cannot become a plan

  // ---- for the runtime's functions; errors are values of cudaError_t ----------------------------------------

  void register_function(const void* host, const char* device_name);
  // The index of the cubin's kernel that a host stub or a handle stands for; −1 if it stands for none.
  int find_kernel(const void* function) const;
  const void* handle(int kernel) const { return &settings_[size_t(kernel)]; }
  const CubinKernel& kernel(int index) const { return cubin_.kernels[size_t(index)]; }
  PlanKernel& settings(int kernel) { return settings_[size_t(kernel)]; }

  // `launch` without kernel and arguments; the arguments lie where `arguments` point.
  int launch(int kernel, KernelLaunch launch, void** arguments);
  int allocate(uint64_t* address, uint64_t bytes);
  int release(uint64_t address);
  uint64_t free_bytes() const {
    return workspace_bytes_ - std::min(workspace_bytes_, addresses_.live_bytes());
  }
  std::optional<Place> find(const void* pointer) const { return addresses_.find(uint64_t(pointer)); }
  void memset(const Place& to, uint8_t value, int64_t bytes);
  void copy(const Place& to, const Place& from, int64_t bytes);

  int error(int code, std::string words = "");  // becomes the last error; returns it
  int take_last_error();
  int last_error() const { return last_error_; }
  const std::string& refused() const { return refused_; }

 private:
  void add(RawStep step);
  Cubin cubin_;
  GpuTarget target_;
  std::vector<PlanKernel> settings_;
  std::map<const void*, int> functions_;
  Addresses addresses_;
  Recording recording_;
  uint64_t workspace_bytes_ = 0, argument_bytes_ = 0;
  int last_error_ = 0;
  std::string refused_;  // a description of the last call's error
};

// Tells the broker and ends the process.
[[noreturn]] void fail(VerdictKind kind, const std::string& reason, const std::string& detail);
[[noreturn]] inline void fail_plan(const std::string& reason, const std::string& detail) {
  fail(VerdictKind::kFailPlan, reason, detail);
}

// Whether the host can read a byte at this address.
bool readable_on_host(const void* pointer);

}  // namespace temper::env
