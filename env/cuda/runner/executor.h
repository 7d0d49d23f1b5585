#pragma once
// Carries plans out, in the context of this process: loads a candidate's cubin, calls it on fresh buffers,
// and looks at what it left behind.

#include <string>
#include <vector>

#include "env/cuda/gpu_memory.h"
#include "env/cuda/gpu_protocol.h"
#include "env/cuda/gpu_toolbox.h"
#include "env/cuda/plan.h"

namespace temper {

// A failure that is the candidate's.
struct CandidateError {
  GpuRunnerStatus status;
  std::string reason, words;
};

class Executor {
 public:
  Executor(const GpuFacts& facts, const SharedGpuMemory& exchange);
  ~Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Errors: CandidateError; GpuError where the context is lost.
  void load(const char* cubin, const std::vector<std::string>& plans);
  // One call: poison, draw, (flush,) plan between events, checks, outputs to the exchange. Returns
  // microseconds.
  double call(const GpuRunnerRequest& request);
  // Microseconds a call by the host's clock, many in a row, and whether launching took most of them.
  double repeat(const GpuRunnerRequest& request, bool& host_bound);
  void unload();
  bool canary();  // whether a draw is found again in memory that was just written

 private:
  struct Launch;
  void resolve(const LaunchPlan& plan, std::vector<CUfunction>& kernels);
  void free_arena();
  CUdeviceptr place(const GpuLayout& layout);
  void prepare(const GpuRunnerRequest& request, const GpuLayout& layout, CUdeviceptr base);
  std::vector<std::vector<uint8_t>> relocated(const LaunchPlan& plan, const GpuLayout& layout,
                                              CUdeviceptr base) const;
  void run(const LaunchPlan& plan, const std::vector<CUfunction>& kernels, const GpuLayout& layout,
           CUdeviceptr base, const std::vector<std::vector<uint8_t>>& arguments);
  void launch(const KernelLaunch& step, CUfunction kernel, const std::vector<uint8_t>& arguments, bool first);
  void look(const GpuRunnerRequest& request, const GpuLayout& layout, CUdeviceptr base);

  GpuFacts facts_;
  CUdeviceptr exchange_;
  CUstream stream_ = nullptr;
  CUevent begin_ = nullptr, end_ = nullptr;
  GpuToolbox tools_;
  CUdeviceptr flags_ = 0;  // u32 changed, u32 broken
  CUdeviceptr arena_ = 0;  // places for buffers, used in turn
  int64_t arena_bytes_ = 0, turn_ = 0;
  CUmodule module_ = nullptr;
  std::vector<LaunchPlan> plans_;
  std::vector<std::vector<CUfunction>> kernels_;  // of each plan
};

}  // namespace temper
