#pragma once
// How one compiled and planned candidate is judged on a GPU.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "env/call/draw_turns.h"
#include "env/gpu/oracle_process.h"
#include "env/gpu/profiler.h"
#include "env/gpu/runner_process.h"
#include "env/plan/gpu_candidate.h"
#include "env/plan/plan.h"
#include "env/procedure/judging.h"
#include "env/verdict/verdict.h"

namespace temper::env {

struct GpuProcedureOptions {
  // All calls of a candidate together; anew for an audit and for each further timed shape.
  std::chrono::nanoseconds run_budget{5'000'000'000};
  int64_t min_pairs = 7, max_pairs = 21;
  bool naive = false;      // ask the naive judge, too
  bool far_inputs = true;  // inputs take the forms of their turns; else all are plain
};

// The processes that produce the verdicts of one GPU.
struct GpuProcesses {
  GpuOracleProcess& oracle;
  GpuRunnerPool& runners;
  GpuProfiler* profiler = nullptr;
  bool idle = false;  // nothing was judged for so long that the GPU's clocks may have sunk
};

class OpenCandidate;

class GpuProcedure {
 public:
  // The runner is left unloaded and fit for the next candidate, or discarded.
  GpuProcedure(const GpuProcedureOptions& options, const GpuFactsWire& gpu, const GpuProcesses& processes,
               const std::vector<Task>& tasks, uint32_t task);

  // Errors: WorldError, and only where the failure is ours: that is the evidence an INFRA verdict needs.
  Verdict judge(const GpuCandidate& candidate);

 private:
  using Draws = GpuOracleProcess::Draws;
  // The calls of a batch that were made, and why no more.
  struct Calls {
    Draws draws;
    std::vector<double> us;
    double watched_us = 0;
    GpuOracleProcess::Digests digests;
    Found found;
  };

  Found choose(const OpenCandidate& candidate);
  Found choose_for(const Choice& choice, const OpenCandidate& candidate, Configurations& taken);
  Found time_alone(const GpuCandidate& candidate, double& product);
  Found time_shape_alone(int32_t plan, double& us);
  Found examine(const GpuCandidate& candidate);
  Found load(const GpuCandidate& candidate);
  Found hand_over(const GpuCandidate& candidate);
  Found check_shapes();
  Found check_timed_shapes();
  Found check_all(Draws draws);
  Draws take_apart(Draws& draws) const;
  GpuDraw next_draw(GpuDraw draw);
  GpuDraw plain_draw();
  GpuDraw draw_of_pair(int64_t number);  // from 0, at the timed shape that is judged
  Found check_draws(Draws draws);
  void warm_up();
  Found judge_times(const GpuCandidate& candidate);
  void begin_shape(int32_t shape);
  Found time_pairs(int64_t min_pairs, int64_t max_pairs);
  Found time_batch(Draws draws);
  Found weigh_times();
  Found audit();
  Found knock_out(const GpuCandidate& candidate);
  Found compare_clocks();
  Found confirm_times(const GpuCandidate& candidate);
  Found reload(const GpuCandidate& candidate);
  Found profile(const GpuCandidate& candidate);

  Calls call(const Draws& draws, GpuRunnerRequest request);
  Found weigh_reply(const std::optional<GpuRunnerReply>& reply, std::chrono::steady_clock::time_point start);
  Found weigh_outputs(const GpuOracleReply& reply, const Draws& draws);
  const std::string& plan_at_shape(const GpuCandidate& candidate) const;
  TimeBounds bounds() const;
  NaiveVerdict ask_naive(const GpuCandidate& candidate);
  void leave();

  const GpuProcedureOptions& options_;
  const GpuFactsWire& gpu_;
  GpuProcesses processes_;
  const Task& task_;
  uint32_t task_index_;

  static constexpr int32_t kNoTimedShape = 0;
  int32_t shape_ = timed_number(0);   // the number of the timed shape at hand
  int32_t at_shape_ = kNoTimedShape;  // … of the shape that what is found is about
  std::chrono::nanoseconds budget_{0};
  std::optional<GpuCandidate> chosen_;  // the candidate with its choices made, if it had any
  bool loaded_ = false, timing_ = false;
  bool host_agrees_ = false;  // its clock, with the time between events
  double watched_us_ = 0;     // the fastest timed call as seen by the host's clock; 0 if it saw none
  bool baseline_first_ = false;
  VerdictTurns turns_;                // of the next draws that take one, under this verdict's key
  uint32_t calls_ = 0;                // made so far, or asked for
  int64_t most_at_once_ = kMaxBatch;  // timed pairs
  TimedPairs pairs_;
  ShapeTimes times_;  // at the timed shapes that are done
  Verdict verdict_;
};

// Below it nothing honest runs at the timed shape of that index: what must be read and cannot lie in a cache, over the
// nominal bandwidth; the arithmetic over the peak of the tensor cores; the time of an empty kernel.
double gpu_floor_us(const Task& task, const GpuFactsWire& gpu, size_t timed = 0);
TimeBounds gpu_bounds(const Task& task, const GpuFactsWire& gpu, size_t timed = 0);

}  // namespace temper::env
