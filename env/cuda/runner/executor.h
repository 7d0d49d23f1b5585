#pragma once
// Carries plans out, in the context of this process: loads a candidate's cubin, calls it on fresh buffers,
// and looks at what it left behind.

#include <string>
#include <vector>

#include "env/cuda/gpu_memory.h"
#include "env/cuda/gpu_protocol.h"
#include "env/cuda/gpu_toolbox.h"
#include "env/cuda/runner/steps.h"
#include "env/cuda/runner/tracer.h"

namespace temper {

class Executor {
 public:
  Executor(const GpuFacts& facts, const SharedGpuMemory& exchange);
  ~Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Errors: CandidateError; GpuError where the context is lost.
  void load(const char* cubin, const std::vector<std::string>& plans);
  // One call: poison, draw, (flush,) plan between events, checks, outputs to the exchange. Returns
  // microseconds. A naive one: outputs from the exchange, draw, plan between events, outputs to the exchange.
  double call(const GpuRunnerRequest& request);
  // Microseconds a call by the host's clock, many in a row, and whether launching took most of them.
  double repeat(const GpuRunnerRequest& request, bool& host_bound);
  // Where a call's time goes, with a cold cache. Outputs stay where they are.
  ProfileWire profile(const GpuRunnerRequest& request, Tracer& tracer);
  void unload();
  bool canary();  // whether a draw is found again in memory that was just written

 private:
  enum class Towards : uint8_t { kOracle, kCandidate };

  void resolve(const LaunchPlan& plan, std::vector<CUfunction>& kernels);
  void free_arena();
  CUdeviceptr place(const GpuLayout& layout);
  CUdeviceptr place_for(const LaunchPlan& plan, const GpuLayout& layout);
  PlacedPlan placed(const GpuRunnerRequest& request);
  void exchange_outputs(const GpuRunnerRequest& request, const PlacedPlan& call, Towards towards);
  void poison(const PlacedPlan& call);
  void prepare(const GpuRunnerRequest& request, const PlacedPlan& call);
  void look(const GpuRunnerRequest& request, const PlacedPlan& call);
  ProfileWire recorded(const LaunchPlan& plan, Tracer& tracer, uint64_t since_ns);

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
