// The right answers of CUDA traces through compiler and plan box, where an nvcc is found.
// All of them: TEMPER_ALL_TRACES=1 rollout_tests --gtest_filter='*CudaTracePlans*'; else each way of writing
// once.

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "env/plan/planner.h"
#include "rollout/traces/recipe.h"
#include "tests/env/cuda_boxes.h"
#include "tests/patience.h"

namespace temper::traces {

using env::Task;

namespace {

using Kind = Variant::Kind;

constexpr int kShards = 4;

bool all_plans_wanted() { return std::getenv("TEMPER_ALL_TRACES") != nullptr; }

std::vector<std::pair<Task, Recipe>> recipes() {
  std::vector<std::pair<Task, Recipe>> all;
  for (const auto& task : env::load_tasks(TEMPER_SOURCE_DIR "/env/tasks/cuda")) {
    all.emplace_back(task, write_recipe(task, 1));
  }
  return all;
}

std::string plan_failure(const Task& task, const std::string& source) {
  env::RecorderProcess recorder({.program = TEMPER_BINARY_DIR "/temper-recorder",
                                 .memory_bytes = 512 << 20,
                                 .user = env::kCudaTestUser});
  const env::Planned planned =
      env::plan_candidate(task, source, env::all_shapes(task), *env::cuda_toolchains(),
                          env::cuda_test_quota(), env::kCudaTestUser, {}, recorder, kPatience_ms);
  if (!planned.failure) return "";
  return fmt::format("{} {}: {}", env::to_string(planned.failure->kind), planned.failure->reason,
                     planned.failure->detail);
}

// Each way of writing once; all wanted: every right answer.
std::vector<std::pair<Task, Variant>> to_plan() {
  std::vector<std::pair<Task, Variant>> chosen;
  std::set<std::string> seen;
  for (const auto& [task, recipe] : recipes()) {
    for (const auto& variant : recipe.variants) {
      if (variant.kind != Kind::kRight) continue;
      const auto way = variant.answer.substr(0, variant.answer.find('\n'));
      if (seen.insert(way).second || all_plans_wanted()) chosen.emplace_back(task, variant);
    }
  }
  return chosen;
}

class CudaTracePlans : public testing::TestWithParam<int> {};

TEST_P(CudaTracePlans, RightAnswersGetThem) {
  SKIP_WITHOUT_RECORDER();
  const auto chosen = to_plan();
  for (size_t k = size_t(GetParam()); k < chosen.size(); k += kShards) {
    const auto& [task, variant] = chosen[k];
    EXPECT_EQ(plan_failure(task, variant.source), "") << task.name << "\n" << variant.answer;
  }
}

INSTANTIATE_TEST_SUITE_P(Shards, CudaTracePlans, testing::Range(0, kShards));

}  // namespace
}  // namespace temper::traces
