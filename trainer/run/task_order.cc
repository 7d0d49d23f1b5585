#include "trainer/run/task_order.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/rng.h"

namespace temper::trainer {

using env::Task;

namespace {

constexpr uint64_t kOrderKey = 0x7A5C, kDrawKey = 0x7A5D, kStandInKey = 0x7A5E;
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

// The others in an order of their own, so that whatever is left out the tasks that are dealt stay where they are.
std::vector<const Task*> TaskOrder::stand_ins(int64_t step, const std::vector<const Task*>& chosen) const {
  std::vector<const Task*> others;
  for (const Task* task : tasks_)
    if (!left_out_.contains(task->name) && std::ranges::count(chosen, task) == 0) others.push_back(task);
  Rng rng{seed_, kStandInKey, uint64_t(step)};
  for (size_t i = others.size(); i > 1; --i) std::swap(others[i - 1], others[rng.below(i)]);
  return others;
}

std::vector<const Task*> TaskOrder::dealt(int64_t step, int64_t count) const {
  std::vector<const Task*> chosen;
  for (int64_t i = 0; i < count; ++i)
    chosen.push_back(tasks_[size_t((step - 1) * count + i) % tasks_.size()]);
  if (std::erase_if(chosen, [&](const Task* task) { return left_out_.contains(task->name); }) > 0)
    for (const Task* task : stand_ins(step, chosen))
      if (int64_t(chosen.size()) < count) chosen.push_back(task);
  return chosen;
}

// Source: Efraimidis and Spirakis, 2006: the largest of u^(1/w), u uniform, are a weighted draw without
// replacement; −log u / w orders likewise, smallest first.
std::vector<const Task*> TaskOrder::by_difficulty(int64_t step, int64_t count) const {
  Rng rng{seed_, kDrawKey, uint64_t(step)};
  std::vector<std::pair<double, const Task*>> keys;
  for (const Task* task : tasks_) {
    const double key = -std::log1p(-rng.uniform()) / weight(*task);
    if (!left_out_.contains(task->name)) keys.emplace_back(key, task);
  }
  std::ranges::stable_sort(keys, {}, &std::pair<double, const Task*>::first);
  std::vector<const Task*> chosen;
  for (int64_t i = 0; i < std::min(count, std::ssize(keys)); ++i) chosen.push_back(keys[size_t(i)].second);
  return chosen;
}

double TaskOrder::weight(const Task& task) const {
  const auto known = pass_rates_.find(task.name);
  const double p = known == pass_rates_.end() ? kUnknown : known->second;
  return std::max(options_.least_weight, 4 * p * (1 - p));
}

// The line for people; empty if the verdict is no reason.
std::string TaskOrder::learn_of(const std::string& task, const env::Verdict& verdict) {
  const bool weak = verdict.weak() && options_.weak == "leave_out";
  if (!weak && !verdict.unusable()) return "";
  if (!left_out_.try_emplace(task, weak ? "weak" : "unusable").second) return "";
  if (!weak) return fmt::format("{} is left out: {}", task, verdict.problem->unusable);
  return fmt::format(
      "{} is left out, and its answers so far earn nothing: answers that compute nothing pass, too ({}); "
      "tasks.weak=keep pays for it",
      task, env::weak_text(verdict.problem->weak));
}

void TaskOrder::observe_pass_rate(const rollout::Group& group) {
  double passed = 0, judged = 0;
  for (const rollout::Trajectory& trajectory : group.samples)
    for (const rollout::Turn& turn : trajectory.turns) {
      if (turn.verdict.infra()) continue;
      ++judged;
      passed += env::told(turn.verdict).pass();
    }
  if (judged == 0) return;
  double& rate = pass_rates_.try_emplace(group.task, kUnknown).first->second;
  rate = kMemory * rate + (1 - kMemory) * passed / judged;
}

void TaskOrder::leave_out_large(const std::vector<std::string>& tasks) {
  for (const std::string& task : tasks) left_out_.try_emplace(task, "too_large");
}

std::vector<std::string> TaskOrder::observe(const rollout::Batch& batch) {
  std::vector<std::string> lines;
  for (const rollout::Group& group : batch.groups) {
    if (options_.order == "difficulty") observe_pass_rate(group);
    for (const rollout::Trajectory& trajectory : group.samples)
      for (const rollout::Turn& turn : trajectory.turns)
        if (std::string line = learn_of(group.task, turn.verdict); !line.empty())
          lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace temper::trainer
