#include "trainer/evaluate/scaling.h"

#include <algorithm>

#include "base/error.h"
#include "base/rng.h"
#include "rollout/search.h"
#include "rollout/trajectory_file.h"
#include "trainer/config/config.h"
#include "trainer/run/interrupted.h"
#include "trainer/run/model.h"

namespace temper::trainer {
namespace {

constexpr uint64_t kScalingStream =
    0x5CA1E;  // keeps its random numbers apart from training's and evaluation's

rollout::SearchOptions options_of(const std::string& way, const ScalingOptions& o) {
  if (way == "parallel") return {.budget = o.budget, .width = o.budget, .keep = o.budget, .shown = 0};
  if (way == "sequential") return {.budget = o.budget, .width = 1, .keep = 1, .shown = o.shown};
  return {.budget = o.budget, .width = o.width, .keep = o.keep, .every = o.every, .shown = o.shown};
}

ScalingCurve curve_of(const std::string& way, const std::vector<rollout::Search>& searches,
                      const RewardOptions& reward_options) {
  const auto place = [&](const env::Verdict& v) { return standing(reward_options, v); };
  ScalingCurve curve{way, {}};
  const auto budget = int64_t(searches.front().verdicts.size());
  for (int64_t answers = 1;; answers = std::min(2 * answers, budget)) {
    std::vector<const env::Verdict*> best, last;
    for (const rollout::Search& one : searches) {
      const std::span so_far(one.verdicts.data(), size_t(answers));
      best.push_back(&*std::ranges::max_element(so_far, {}, place));
      last.push_back(&so_far.back());
    }
    curve.points.push_back({answers, score(reward_options, best), score(reward_options, last)});
    if (answers == budget) return curve;
  }
}

}  // namespace

std::vector<ScalingCurve> scale_at_test_time(Model& model, env::Judge& judge, const RunConfig& config,
                                             std::vector<rollout::Trajectory>* kept,
                                             const std::function<void(int64_t, int64_t)>& progress) {
  const ScalingOptions& options = config.eval.scaling;
  const auto tasks = tasks_of_split(judge.tasks(), config.eval.split);
  policy::Communicator& ranks = model.policy.ranks();
  const auto record = [&](const rollout::Batch& batch) {
    if (any_interrupted(ranks)) throw Interrupted();
    if (kept && ranks.rank() == 0) rollout::keep(batch, *kept);
  };
  std::vector<ScalingCurve> curves;
  for (const std::string& way : options.ways) {
    rollout::Rollout rollout(model.policy, model.tokenizer, judge, config.eval.rollout(config.rollout),
                             mix_key({uint64_t(config.run.seed), kScalingStream, curves.size()}));
    rollout.stops_when_interrupted = true;
    const auto tell = [&](int64_t done, int64_t total) {
      if (progress)
        progress(int64_t(curves.size()) * total + done * ranks.size(), int64_t(options.ways.size()) * total);
    };
    const auto searches = rollout::search(
        rollout, tasks, config.eval.samples, options_of(way, options),
        [&](const env::Verdict& v) { return turn_total(reward(config.reward, v)); }, record, tell);
    curves.push_back(curve_of(way, searches, config.reward));
  }
  return curves;
}

void add_metrics(const std::vector<ScalingCurve>& curves, Metrics& metrics) {
  for (const ScalingCurve& curve : curves)
    for (const auto& [answers, best, last] : curve.points) {
      add_metrics(fmt::format("val/scaling/{}/best_of_{}", curve.way, answers), best, metrics);
      add_metrics(fmt::format("val/scaling/{}/last_of_{}", curve.way, answers), last, metrics);
    }
}

}  // namespace temper::trainer
