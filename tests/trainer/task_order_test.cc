#include "trainer/task_order.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace temper {
namespace {

std::vector<const Task*> pointers(const std::vector<Task>& tasks) {
  std::vector<const Task*> list;
  for (const Task& task : tasks) list.push_back(&task);
  return list;
}

TEST(TaskOrder, DealsEveryTaskEquallyOftenAndNoneTwiceInAStep) {
  const std::vector<Task> tasks(10);
  std::map<const Task*, int> dealt;
  for (int64_t step = 1; step <= 10; ++step) {
    const auto chosen = tasks_of_step(pointers(tasks), 1, step, 4);
    EXPECT_EQ(std::set<const Task*>(chosen.begin(), chosen.end()).size(), 4u);
    for (const Task* task : chosen) ++dealt[task];
  }
  EXPECT_EQ(dealt.size(), 10u);
  for (const auto& [task, times] : dealt) EXPECT_EQ(times, 4);
}

TEST(TaskOrder, DependsOnTheSeed) {
  const std::vector<Task> tasks(10);
  const auto list = pointers(tasks);
  EXPECT_EQ(tasks_of_step(list, 1, 3, 10), tasks_of_step(list, 1, 3, 10));
  EXPECT_NE(tasks_of_step(list, 1, 3, 10), tasks_of_step(list, 2, 3, 10));
  EXPECT_NE(tasks_of_step(list, 1, 1, 10), list);
}

}  // namespace
}  // namespace temper
