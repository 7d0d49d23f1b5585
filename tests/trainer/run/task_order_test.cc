#include "trainer/run/task_order.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/trainer/fixtures.h"

namespace temper::trainer {

using env::Task;

namespace {

std::vector<Task> ten_tasks() {
  std::vector<Task> tasks(10);
  for (size_t i = 0; i < tasks.size(); ++i) tasks[i].name = fmt::format("t{}", i), tasks[i].split = "train";
  return tasks;
}

rollout::Batch answers(const std::string& task, const std::vector<env::Verdict>& verdicts) {
  rollout::Batch batch;
  batch.groups.push_back({task, {}});
  for (const env::Verdict& verdict : verdicts) batch.groups[0].samples.push_back(make_trajectory({verdict}));
  return batch;
}

TEST(TaskOrder, DealsEveryTaskEquallyOftenAndNoneTwiceInAStep) {
  const auto tasks = ten_tasks();
  const TaskOrder order({}, tasks, 1);
  std::map<const Task*, int> dealt;
  for (int64_t step = 1; step <= 10; ++step) {
    const auto chosen = order.of_step(step, 4);
    EXPECT_EQ(std::set<const Task*>(chosen.begin(), chosen.end()).size(), 4u);
    for (const Task* task : chosen) ++dealt[task];
  }
  EXPECT_EQ(dealt.size(), 10u);
  for (const auto& [task, times] : dealt) EXPECT_EQ(times, 4);
}

TEST(TaskOrder, DependsOnTheSeed) {
  const auto tasks = ten_tasks();
  for (const std::string name : {"dealt", "difficulty"}) {
    const TaskOptions options{.order = name};
    EXPECT_EQ(TaskOrder(options, tasks, 1).of_step(3, 10), TaskOrder(options, tasks, 1).of_step(3, 10));
    EXPECT_NE(TaskOrder(options, tasks, 1).of_step(3, 10), TaskOrder(options, tasks, 2).of_step(3, 10));
  }
}

TEST(TaskOrder, DrawsByDifficultyAsOftenAsTheWeightsSay) {
  const auto tasks = ten_tasks();
  TaskOrder order({.order = "difficulty", .least_weight = 0.25}, tasks, 1);
  // 9 tasks of weight 1/4 beside one of 1: 1 in 3.25 of single draws.
  std::map<std::string, double> rates;
  for (int i = 1; i < 10; ++i) rates[fmt::format("t{}", i)] = i % 2 ? 0.0 : 1.0;
  order.restore(rates);
  int drawn = 0;
  constexpr int kSteps = 20000;
  for (int64_t step = 1; step <= kSteps; ++step) drawn += order.of_step(step, 1)[0]->name == "t0";
  EXPECT_NEAR(double(drawn) / kSteps, 1 / 3.25, 0.01);
  const auto all = order.of_step(1, 10);
  EXPECT_EQ(std::set<const Task*>(all.begin(), all.end()).size(), 10u);
}

TEST(TaskOrder, PassRatesFollowWhatThePolicyIsTold) {
  const auto tasks = ten_tasks();
  TaskOrder order({.order = "difficulty"}, tasks, 1), dealt({}, tasks, 1);
  env::Verdict fooled = failed();
  fooled.naive = {.pass = true, .speedup = 2, .binding = true};
  order.observe(answers("t1", {passed(1), failed(), failed(env::VerdictKind::kInfra)}));
  order.observe(answers("t2", {failed(), failed(), fooled, failed()}));
  order.observe(answers("t3", {failed(env::VerdictKind::kInfra)}));
  order.observe(answers("t1", {passed(1)}));
  EXPECT_EQ(order.pass_rates(), (std::map<std::string, double>{{"t1", 0.75}, {"t2", 0.375}}));
  dealt.observe(answers("t1", {passed(1)}));
  EXPECT_TRUE(dealt.pass_rates().empty());
}

}  // namespace
}  // namespace temper::trainer
