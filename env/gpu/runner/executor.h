#pragma once
// Carries plans out, in the context of this process: loads a candidate's cubin, calls it on fresh buffers,
// and looks at what it left behind.

#include <chrono>
#include <string>
#include <vector>

#include "env/gpu/device/memory.h"
#include "env/gpu/device/toolbox.h"
#include "env/gpu/protocol.h"
#include "env/gpu/runner/steps.h"
#include "env/gpu/runner/tracer.h"

namespace temper {

class Executor {
 public:
  Executor(const GpuFacts& facts, const SharedGpuMemory& exchange);
  ~Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // In place of what is loaded. Errors: CandidateError; GpuError where the context is lost.
  void load(std::string_view cubin, const std::vector<std::string>& plans);
  // Each call: fill, draw, (flush,) plan between events, checks, outputs to the exchange, their digest. A
  // naive one: outputs from the exchange, draw, plan between events, outputs to the exchange. The reply says
  // how many were made, whatever becomes of the next one; timed ones that take long end the batch, and short
  // ones are queued without waiting for each. Those that follow a long one are seen by the host's clock, too.
  void call(const GpuRunnerRequest& request, GpuRunnerReply& reply);
  // Microseconds a call by the host's clock, many in a row, and whether launching took most of them.
  double repeat(const GpuRunnerRequest& request, bool& host_bound);
  // Where a call's time goes, with a cold cache. Outputs stay where they are.
  ProfileWire profile(const GpuRunnerRequest& request, Tracer& tracer);
  void unload();
  bool canary();  // whether a draw is found again in memory that was just written

 private:
  // What a call leaves in memory for the host to read.
  struct Left {
    uint32_t changed = 0, broken = 0;  // 1: an input, a guard
    uint64_t digest = 0;               // of the outputs
    uint64_t tables = 0;               // … of the candidate's tables
  };

  void resolve(const LaunchPlan& plan, std::vector<CUfunction>& kernels);
  void find_tables(std::string_view cubin);
  void digest_tables(CUdeviceptr sum);
  void free_arena();
  CUdeviceptr place(const GpuLayout& layout);
  CUdeviceptr place_for(const LaunchPlan& plan, const GpuLayout& layout);
  PlacedPlan lay_out(const GpuCall& call);
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
  CUdeviceptr left_ = 0;   // a Left for each call of a batch
  CUdeviceptr arena_ = 0;  // places for buffers, used in turn
  int64_t arena_bytes_ = 0, turn_ = 0, places_ = 1;
  CUmodule module_ = nullptr;
  std::vector<LaunchPlan> plans_;
  std::vector<std::vector<CUfunction>> kernels_;  // of each plan
  struct Table {
    CUdeviceptr data = 0;
    int64_t bytes = 0;
  };
  std::vector<Table> tables_;         // variables of the candidate that it may only read
  CUdeviceptr table_copy_ = 0;        // aligned, of kMaxGlobalBytes
  uint64_t table_key_ = 0, table_digest_ = 0;
  bool takes_long_ = false;                       // as the last timed call did
  double watched_us_ = 0;                         // as in the reply
};

}  // namespace temper
