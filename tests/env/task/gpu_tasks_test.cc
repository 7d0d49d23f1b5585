// The GPU tasks that come with Temper, as far as their files say it. What their references do:
// gpu_admission_test.cc.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/files.h"
#include "env/admission/gpu_admission.h"
#include "env/admission/table.h"
#include "env/gpu/case.h"
#include "env/task/task.h"

namespace temper::env {
namespace {

const std::vector<Task>& gpu_tasks() {
  static const auto tasks = load_tasks(TEMPER_SOURCE_DIR "/env/tasks/cuda");
  return tasks;
}

int64_t bytes_at(const Task& task, const Shape& shape) {
  int64_t bytes = 0;
  for (const auto* tensors : {&task.inputs, &task.outputs})
    for (const auto& tensor : *tensors) bytes += tensor_bytes(tensor, shape);
  return bytes;
}

TEST(GpuTasks, ThereAreEnough) { EXPECT_GE(gpu_tasks().size(), 160u); }

TEST(GpuTasks, AboutAQuarterIsHeldOutInEveryFamily) {
  std::map<std::string, std::map<std::string, int>> count;
  for (const auto& task : gpu_tasks()) ++count[task.family][task.split];
  int train = 0, heldout = 0;
  for (auto& [family, splits] : count) {
    EXPECT_GE(splits["train"], 2 * splits["heldout"]) << family;
    EXPECT_GE(splits["heldout"], 2) << family;
    train += splits["train"], heldout += splits["heldout"];
  }
  EXPECT_GE(count.size(), 16u);
  EXPECT_NEAR(double(heldout) / double(train + heldout), 0.27, 0.04);
}

// At another precision it is another task, but not one of the other split.
TEST(GpuTasks, NoFunctionIsAskedForTwice) {
  std::set<std::string> seen;
  std::map<std::string, std::string> split;
  for (const auto& task : gpu_tasks()) {
    std::string shapes, types;
    for (const auto& input : task.inputs) {
      shapes += fmt::format(" [{}]", fmt::join(input.shape, ","));
      types += fmt::format(" {}", int(input.type));
    }
    EXPECT_TRUE(seen.insert(task.reference + shapes + types).second) << task.name;
    EXPECT_EQ(split.emplace(task.reference + shapes, task.split).first->second, task.split) << task.name;
  }
}

TEST(GpuTasks, CheckShapesAreSmallUnequalAndNoMultiplesOfATile) {
  for (const auto& task : gpu_tasks()) {
    EXPECT_GE(task.check_shapes.size(), 3u) << task.name;
    int64_t least = INT64_MAX;
    for (const auto& shape : task.check_shapes) {
      bool odd = false;
      for (const auto& [dim, size] : shape) odd = odd || size % 2 != 0;
      EXPECT_TRUE(odd) << task.name;
      EXPECT_LE(bytes_at(task, shape), 9 << 20) << task.name;
      least = std::min(least, bytes_at(task, shape));
    }
    EXPECT_LT(least, 40'000) << task.name << " is not tried at a tiny size";
  }
}

TEST(GpuTasks, TimedShapesAreLargeAndFitBesideOthers) {
  for (const auto& task : gpu_tasks()) {
    for (size_t i = 0; i < task.timed_count(); ++i) {
      const TimedShape timed = task.timed(i);
      EXPECT_LE(bytes_at(task, timed.sizes), 300e6) << task.name;
      EXPECT_LE(timed.min_bytes, double(bytes_at(task, timed.sizes))) << task.name;
      EXPECT_LE(timed.min_flops, 40e9) << task.name;
    }
  }
}

// It is printed by `temper judge --admit tasks.path=env/tasks/cuda --markdown`.
TEST(GpuTasks, TheTableIsOfTheseTasks) {
  const std::string table = read_file(TEMPER_SOURCE_DIR "/env/tasks/cuda/README.md");
  for (const auto& task : gpu_tasks())
    EXPECT_NE(table.find(task_cells(task, h200_floor_us(task))), std::string::npos)
        << "has no line " << task_cells(task, h200_floor_us(task));
  size_t rows = 0;
  for (size_t at = table.find("\n| `"); at != std::string::npos; at = table.find("\n| `", at + 1)) ++rows;
  EXPECT_EQ(rows, gpu_tasks().size());
}

}  // namespace
}  // namespace temper::env
