#pragma once
// Executes plans in this process's CUDA context: loads a candidate's cubins, calls it on fresh buffers, and checks
// the memory afterwards.

#include <chrono>
#include <string>
#include <vector>

#include "env/gpu/device/memory.h"
#include "env/gpu/device/toolbox.h"
#include "env/gpu/protocol.h"
#include "env/gpu/runner/steps.h"
#include "env/gpu/runner/tracer.h"

namespace temper::env {

class Executor {
 public:
  Executor(const GpuFacts& facts, const SharedGpuMemory& exchange);
  ~Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // In place of what is loaded. Errors: CandidateError; GpuError where the context is lost.
  void load(const std::vector<std::string_view>& cubins, const std::vector<std::string>& plans);
  // Makes the calls of the request. Each call fills memory, draws the inputs, flushes the cache if it is timed, runs
  // the plan between events, checks memory, copies the outputs to the exchange and computes their digest. A naive call
  // takes the outputs from the exchange, draws, runs the plan between events, and copies the outputs back. The reply
  // contains the number of calls that were completed, even if a later one fails. Timed calls that take long end the
  // batch; short ones are queued without waiting for each. Calls after a long one are also timed by the host's clock.
  void call(const GpuRunnerRequest& request, GpuRunnerReply& reply);
  // Microseconds a call by the host's clock, many in a row, and whether launching took most of them.
  double repeat(const GpuRunnerRequest& request, bool& host_bound);
  // Profiles one call with a cold cache. Outputs are not copied to the exchange.
  ProfileWire profile(const GpuRunnerRequest& request, Tracer& tracer);
  void unload();
  bool canary();  // whether a draw is found again in memory that was just written

 private:
  // The results of a call's checks, in memory that the host reads.
  struct Left {
    uint32_t changed = 0, broken = 0;  // 1: an input, a guard
    uint64_t digest = 0;               // digest of the outputs
    uint64_t tables = 0;               // digest of the candidate's tables
  };

  void find_kernels(const LaunchPlan& plan, std::vector<CUfunction>& kernels);
  void find_tables(std::string_view cubin, CUmodule module);
  void remember_tables();
  void digest_tables(CUdeviceptr sum);
  void free_arena();
  CUdeviceptr place(const CallLayout& layout);
  CUdeviceptr place_for(const LaunchPlan& plan, const CallLayout& layout);
  PlacedPlan lay_out(const GpuCall& call);
  CallLayout lay_apart(const LaunchPlan& plan, const PlanBuffers& buffers, Placement placement);
  void queue(const GpuRunnerRequest& request, int32_t call, int64_t& exchange_end);
  void fill(const GpuCall& call, const PlacedPlan& placed);
  void prepare(const GpuRunnerRequest& how, const GpuCall& call, const PlacedPlan& placed);
  void look(const GpuCall& call, const PlacedPlan& placed, CUdeviceptr left);
  void take_outputs(const PlacedPlan& placed);
  void give_outputs(const PlacedPlan& placed, uint64_t seal, int64_t& end, CUdeviceptr digest);
  Left wait_for(int32_t call);
  std::chrono::steady_clock::time_point when_done();
  CUdeviceptr left(int32_t call) const { return left_ + CUdeviceptr(call) * sizeof(Left); }
  ProfileWire recorded(const LaunchPlan& plan, Tracer& tracer, uint64_t since_ns);

  GpuFacts facts_;
  CUdeviceptr exchange_;
  int64_t exchange_bytes_;
  CUstream stream_ = nullptr;
  CUevent begin_[kMaxBatch] = {}, end_[kMaxBatch] = {}, done_[kMaxBatch] = {};
  GpuToolbox tools_;
  GpuWindows windows_;     // for buffers that lie apart
  CUdeviceptr left_ = 0;   // a Left for each call of a batch
  CUdeviceptr arena_ = 0;  // places for buffers, used in turn
  int64_t arena_bytes_ = 0, turn_ = 0, places_ = 1;
  std::vector<CUmodule> modules_;  // of each cubin
  std::vector<LaunchPlan> plans_;
  std::vector<std::vector<CUfunction>> kernels_;  // the kernels of each plan
  struct Table {
    CUdeviceptr data = 0;
    int64_t bytes = 0;
  };
  std::vector<Table> tables_;   // variables of the candidate that it may only read
  CUdeviceptr table_copy_ = 0;  // aligned, of kMaxGlobalBytes
  uint64_t table_key_ = 0, table_digest_ = 0;
  bool takes_long_ = false;  // as the last timed call did
  double watched_us_ = 0;    // as in the reply
};

}  // namespace temper::env
