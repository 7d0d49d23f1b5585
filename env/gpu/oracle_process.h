#pragma once
// The broker's side of the GPU oracle. Trusted, but it may die: every call throws WorldError if it is gone,
// silent for a minute, or reports an error; TaskTooLarge if that is all.

#include <string>
#include <vector>

#include "base/error.h"
#include "base/machine/child_process.h"
#include "env/gpu/protocol.h"

namespace temper::env {

// This GPU's memory does not hold the task; it holds others.
class TaskTooLarge : public WorldError {
 public:
  using WorldError::WorldError;
};

class GpuOracleProcess {
 public:
  // Starts it and returns at once.
  GpuOracleProcess(const std::string& program, int gpu, const std::vector<Task>& tasks);
  // Errors: ConfigError if a reference does not compile, WorldError if the program does not start.
  void wait_ready();

  using Draws = std::vector<GpuDraw>;  // a batch
  using Digests = std::vector<uint64_t>;

  // Replaces each draw's turn by the kinds of its inputs (GpuDraw::kind). How far a kind may depart is measured when
  // it is first needed.
  void settle(uint32_t task, Draws& draws);
  GpuOracleReply baseline(uint32_t task, const Draws& draws);
  // Compares the outputs in the exchange with the reference for these draws, and with the digests that the runner
  // reported: kOk, kMismatch or kSealBroken.
  GpuOracleReply compare(uint32_t task, const Draws& draws, const Digests& digests);
  GpuOracleReply baseline_and_compare(uint32_t task, const Draws& draws, const Digests& digests);

  // The next three serve the naive judge. They write the eager result to the exchange, check whether the outputs
  // in the exchange are within 1e-2 of it, and time one of many calls on the same data in microseconds.
  void give_away(uint32_t task, const GpuDraw& draw);
  bool allclose(uint32_t task, const GpuDraw& draw);
  double warm_baseline(uint32_t task, const GpuDraw& draw);

  int exchange() const { return exchange_.get(); }  // the descriptor of the memory for outputs
  int64_t bytes() const { return exchange_bytes_; }
  const std::string& neighbours() const { return neighbours_; }  // gpu_neighbours, before we came

 private:
  GpuOracleReply ask(GpuOracleRequest request);

  Fd socket_, exchange_;
  int64_t exchange_bytes_ = 0;
  std::string neighbours_;
  ChildProcess process_;
  uint32_t sequence_ = 0;
};

}  // namespace temper::env
