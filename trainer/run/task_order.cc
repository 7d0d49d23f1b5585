#include "trainer/run/task_order.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/rng.h"

namespace temper::trainer {

using env::Task;

namespace {

constexpr uint64_t kOrderKey = 0x7A5C, kDrawKey = 0x7A5D;
constexpr double kUnknown = 0.5;  // the pass rate of a task not visited yet
constexpr double kMemory = 0.5;   // weight that earlier results keep when a task is visited again

}  // namespace

TaskOrder::TaskOrder(const TaskOptions& options, const std::vector<Task>& tasks, uint64_t seed)
    : options_(options), tasks_(tasks_to_learn(options, tasks)), seed_(seed) {
  Rng rng{seed, kOrderKey};
  for (size_t i = tasks_.size(); i > 1; --i) std::swap(tasks_[i - 1], tasks_[rng.below(i)]);
}

std::vector<const Task*> TaskOrder::of_step(int64_t step, int64_t count) const {
  TEMPER_CHECK(count <= int64_t(tasks_.size()), "{} of {} tasks", count, tasks_.size());
  return options_.order == "difficulty" ? by_difficulty(step, count) : dealt(step, count);
}

std::vector<const Task*> TaskOrder::dealt(int64_t step, int64_t count) const {
  std::vector<const Task*> chosen;
  for (int64_t i = 0; i < count; ++i)
    chosen.push_back(tasks_[size_t((step - 1) * count + i) % tasks_.size()]);
  return chosen;
}

// Source: Efraimidis and Spirakis, 2006: the largest of u^(1/w), u uniform, are a weighted draw without
// replacement; −log u / w orders likewise, smallest first.
std::vector<const Task*> TaskOrder::by_difficulty(int64_t step, int64_t count) const {
  Rng rng{seed_, kDrawKey, uint64_t(step)};
  std::vector<std::pair<double, const Task*>> keys;
  for (const Task* task : tasks_) keys.emplace_back(-std::log1p(-rng.uniform()) / weight(*task), task);
  std::ranges::stable_sort(keys, {}, &std::pair<double, const Task*>::first);
  std::vector<const Task*> chosen;
  for (int64_t i = 0; i < count; ++i) chosen.push_back(keys[size_t(i)].second);
  return chosen;
}

double TaskOrder::weight(const Task& task) const {
  const auto known = pass_rates_.find(task.name);
  const double p = known == pass_rates_.end() ? kUnknown : known->second;
  return std::max(options_.least_weight, 4 * p * (1 - p));
}

void TaskOrder::observe(const rollout::Batch& batch) {
  if (options_.order != "difficulty") return;
  for (const rollout::Group& group : batch.groups) {
    double passed = 0, judged = 0;
    for (const rollout::Trajectory& trajectory : group.samples)
      for (const rollout::Turn& turn : trajectory.turns) {
        if (turn.verdict.infra()) continue;
        ++judged;
        passed += env::told(turn.verdict).pass();
      }
    if (judged == 0) continue;
    double& rate = pass_rates_.try_emplace(group.task, kUnknown).first->second;
    rate = kMemory * rate + (1 - kMemory) * passed / judged;
  }
}

}  // namespace temper::trainer
