#pragma once
// Test-time scaling: what more answers to a task are worth, spent in parallel, one after another, or as a
// beam.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "env/judge/judge.h"
#include "rollout/trajectory.h"
#include "trainer/evaluate/options.h"
#include "trainer/evaluate/score.h"
#include "trainer/run/metrics.h"

namespace temper::trainer {

struct Model;
struct RunConfig;

// One way's scores after 1, 2, 4, … answers of the budget.
struct ScalingCurve {
  struct Point {
    int64_t answers;
    Score best;  // of the answers so far, the one with the highest reward
    Score last;
  };
  std::string way;
  std::vector<Point> points;
};

// Searches for every task of eval.split, eval.samples times. On rank 0 `kept` gets the rows unless it is null.
// Deterministic in the seed except for decisions that depend on measured times. `progress` is called with (answers
// judged, answers in all). Errors: Interrupted.
std::vector<ScalingCurve> scale_at_test_time(Model& model, env::Judge& judge, const RunConfig& config,
                                             std::vector<rollout::Trajectory>* kept = nullptr,
                                             const std::function<void(int64_t, int64_t)>& progress = {});

// val/scaling/beam/best_of_8/correct, val/scaling/sequential/last_of_8/fast_1, …
void add_metrics(const std::vector<ScalingCurve>& curves, Metrics& metrics);

}  // namespace temper::trainer
