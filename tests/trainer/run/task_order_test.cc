#include "trainer/run/task_order.h"

#include <gmock/gmock.h>
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
  order.restore(rates, {});
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

env::Verdict of_problem(env::Verdict verdict, const env::ProblemNotes& notes) {
  verdict.problem = notes;
  return verdict;
}

std::set<std::string> names_of(const std::vector<const Task*>& tasks) {
  std::set<std::string> names;
  for (const Task* task : tasks) names.insert(task->name);
  return names;
}

TEST(TaskOrder, LeavesOutWhatTellsNothingFromItsFirstVerdictOn) {
  const auto tasks = ten_tasks();
  const env::ProblemNotes weak{.weak = {"zeros"}}, fair{.weak_comparable = {"zeros"}, .promises = {"x"}};
  for (const std::string name : {"dealt", "difficulty"}) {
    TaskOrder order({.order = name}, tasks, 1);
    std::vector<std::string> before;
    for (const Task* task : order.of_step(7, 4)) before.push_back(task->name);
    EXPECT_TRUE(order.observe(answers(before[0], {of_problem(passed(2), fair), failed()})).empty());
    const auto lines = order.observe(
        answers(before[1], {failed(), of_problem(failed(), weak), of_problem(passed(2), weak)}));
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_THAT(lines[0],
                testing::AllOf(testing::StartsWith(before[1] + " is left out"), testing::HasSubstr("(zeros)"),
                               testing::HasSubstr("tasks.weak=keep")));
    EXPECT_THAT(order.observe(answers(before[2], {env::unusable_problem("draws numbers")})),
                testing::ElementsAre(before[2] + " is left out: draws numbers"));
    EXPECT_THAT(order.left_out(), testing::UnorderedElementsAre(testing::Pair(before[1], "weak"),
                                                                testing::Pair(before[2], "unusable")));
    const auto after = order.of_step(7, 4);
    EXPECT_EQ(names_of(after).size(), 4u) << "others stand in";
    EXPECT_FALSE(names_of(after).contains(before[1]) || names_of(after).contains(before[2]));
    EXPECT_EQ(after[0]->name, before[0]) << "who was dealt stays";
    EXPECT_EQ(order.of_step(7, 4), after);
    EXPECT_EQ(order.of_step(3, 10).size(), 8u) << "no more are left";
    TaskOrder resumed({.order = name}, tasks, 1);
    resumed.restore(order.pass_rates(), order.left_out());
    for (int64_t step = 1; step < 20; ++step) EXPECT_EQ(resumed.of_step(step, 4), order.of_step(step, 4));
  }
}

TEST(TaskOrder, KeepsWeakTasksIfAskedAndNoneThatCannotBeJudged) {
  const auto tasks = ten_tasks();
  TaskOrder order({.weak = "keep"}, tasks, 1);
  EXPECT_TRUE(order.observe(answers("t1", {of_problem(passed(2), {.weak = {"zeros"}})})).empty());
  EXPECT_EQ(order.observe(answers("t2", {env::unusable_problem("draws numbers")})).size(), 1u);
  order.leave_out_large({"t3", "t2"});
  EXPECT_THAT(order.left_out(), testing::UnorderedElementsAre(testing::Pair("t2", "unusable"),
                                                              testing::Pair("t3", "too_large")));
  EXPECT_EQ(order.of_step(1, 10).size(), 8u);
}

}  // namespace
}  // namespace temper::trainer
