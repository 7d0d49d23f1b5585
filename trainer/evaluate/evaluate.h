#pragma once
// How good the policy is: sampled and greedy answers to tasks it never learned from.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "env/judge/judge.h"
#include "rollout/rollout.h"
#include "rollout/trajectory.h"
#include "trainer/evaluate/module_scores.h"
#include "trainer/evaluate/options.h"
#include "trainer/evaluate/scaling.h"
#include "trainer/evaluate/score.h"
#include "trainer/run/metrics.h"

namespace temper::trainer {

struct Model;
struct RunConfig;

// The verdicts of one way of sampling.
struct TurnScores {
  std::vector<Score> by_turn;  // [turn]
  Score last;                  // of each trajectory, its last turn: what the policy ends with
  Score best;                  // of each trajectory, the best turn: a right one with the highest reward
  std::map<int64_t, double> pass_at;  // k = 1, 2, 4, … and all samples: mean over tasks, of last turns
  std::vector<ModuleAnswer> modules;  // to problems in PyTorch, of last turns
};

struct Evaluation {
  TurnScores sampled, greedy;
  double seconds = 0;
};

// The file of eval.kernelbench_baseline, if there is one. Errors: those of KernelBenchBaseline.
std::optional<KernelBenchBaseline> published_baseline(const EvalOptions& options);

// What the scores of both ways say of problems in PyTorch, by the names of the ways.
std::vector<std::pair<std::string, const std::vector<ModuleAnswer>*>> module_ways(
    const Evaluation& evaluation);

// Rolls out every task of eval.split, eval.samples times sampled and once greedy. On rank 0 `kept` gets the
// trajectories unless it is null. Deterministic in the seed except for decisions that depend on measured times.
// `progress` is called with (turns judged, turns in all). Errors: ConfigError if the split has no task; Interrupted.
Evaluation evaluate(Model& model, env::Judge& judge, const RunConfig& config,
                    std::vector<rollout::Trajectory>* kept = nullptr,
                    const std::function<void(int64_t, int64_t)>& progress = {});

// val/sampled/correct (last turns), val/sampled/turn_1/fast_1.2, val/greedy/best/reward, …
void add_metrics(const Evaluation& evaluation, Metrics& metrics);

}  // namespace temper::trainer
