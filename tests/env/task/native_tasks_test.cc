// The tasks that come with Temper.

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "env/oracle/oracle.h"
#include "env/task/task.h"

namespace temper::env {
namespace {

const std::vector<Task>& native_tasks() {
  static const auto tasks = load_tasks(TEMPER_SOURCE_DIR "/env/tasks/cpp");
  return tasks;
}

TEST(NativeTasks, ThereAreEnough) { EXPECT_GE(native_tasks().size(), 40u); }

TEST(NativeTasks, AThirdIsHeldOutInEveryFamily) {
  std::map<std::string, std::map<std::string, int>> count;
  for (const auto& task : native_tasks()) ++count[task.family][task.split];
  int train = 0, heldout = 0;
  for (auto& [family, splits] : count) {
    EXPECT_GT(splits["train"], splits["heldout"]) << family;
    EXPECT_GE(splits["heldout"], 3) << family;
    train += splits["train"], heldout += splits["heldout"];
  }
  EXPECT_NEAR(double(heldout) / double(train + heldout), 1.0 / 3, 0.04);
}

TEST(NativeTasks, NoFunctionIsAskedForTwice) {
  std::set<std::string> seen;
  for (const auto& task : native_tasks()) {
    std::string key = task.reference;
    for (const auto& input : task.inputs) {
      for (const auto& dim : input.shape) key += " " + dim;
    }
    EXPECT_TRUE(seen.insert(key).second) << task.name;
  }
}

TEST(NativeTasks, CheckShapesAreSmallUnequalAndNotAllMultiplesOfEight) {
  for (const auto& task : native_tasks()) {
    bool odd = false, unequal = false;
    for (const auto& shape : task.check_shapes) {
      std::set<int64_t> sizes;
      for (const auto& [dim, size] : shape) {
        odd = odd || size % 8 != 0;
        EXPECT_LE(size, 66) << task.name;
        sizes.insert(size);
      }
      unequal = unequal || sizes.size() == shape.size();
    }
    EXPECT_TRUE(odd && unequal) << task.name;
  }
}

TEST(NativeTasks, EveryReferenceRunsAndUsesAllItsInputs) {
  EXPECT_NO_THROW(Oracle(native_tasks(), nullptr, 0));
}

}  // namespace
}  // namespace temper::env
