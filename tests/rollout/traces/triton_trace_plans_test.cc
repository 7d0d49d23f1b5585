// The right answers of Triton traces through Triton's compiler and the plan box, where Python has torch and triton.
// All of them: TEMPER_ALL_TRACES=1 rollout_tests --gtest_filter='*TritonTracePlans*'; else each way of writing
// once.

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "env/verdict/source_gate.h"
#include "rollout/traces/kernel.h"
#include "rollout/traces/program.h"
#include "rollout/traces/recipe.h"
#include "rollout/traces/styles.h"
#include "tests/env/triton_boxes.h"

namespace temper::traces {

using env::Task;

namespace {

constexpr int kPlanShards = 4;

std::vector<Task> planned_tasks() {
  return env::tasks_in(env::kTriton, env::load_tasks(TEMPER_SOURCE_DIR "/env/tasks/cuda"));
}

std::string words_of_plan(const Task& task, const std::string& source) {
  if (const env::Found rejected = env::gate_source(env::kTriton, source)) return rejected->reason;
  const auto reply = env::triton_box().plan(task, source, env::all_shapes(task), {});
  if (!reply.failure) return "";
  return fmt::format("{} {}: {}", env::to_string(reply.failure->kind), reply.failure->reason,
                     reply.failure->detail);
}

// Each way of writing once for each family; all wanted: every right answer.
std::vector<std::pair<Task, Variant>> answers_to_plan() {
  std::vector<std::pair<Task, Variant>> chosen;
  std::set<std::string> seen;
  for (const auto& task : planned_tasks()) {
    for (const auto& variant : write_recipe(task, 1).variants) {
      if (variant.kind != Variant::Kind::kRight) continue;
      const auto way = task.family + ": " + variant.answer.substr(0, variant.answer.find('\n'));
      if (seen.insert(way).second || std::getenv("TEMPER_ALL_TRACES") != nullptr)
        chosen.emplace_back(task, variant);
    }
  }
  return chosen;
}

class TritonTracePlans : public testing::TestWithParam<int> {};

TEST_P(TritonTracePlans, RightAnswersGetThem) {
  SKIP_WITHOUT_TRITON();
  const auto chosen = answers_to_plan();
  for (size_t k = size_t(GetParam()); k < chosen.size(); k += kPlanShards) {
    const auto& [task, variant] = chosen[k];
    EXPECT_EQ(words_of_plan(task, variant.source), "") << task.name << "\n" << variant.answer;
  }
}

INSTANTIATE_TEST_SUITE_P(Shards, TritonTracePlans, testing::Range(0, kPlanShards));

// What no GPU is needed to refuse.
TEST(TritonTraceMistakes, OfTheLauncherAreRefused) {
  SKIP_WITHOUT_TRITON();
  const std::vector<std::pair<Defect, std::string>> refused = {
      {Defect::kNotPower, "FAIL_COMPILE"},  {Defect::kNoConstexpr, "FAIL_COMPILE"},
      {Defect::kNoReturn, "FAIL_PLAN"},     {Defect::kPresetType, "FAIL_PLAN"},
      {Defect::kOnHost, "FAIL_PLAN"},       {Defect::kInTorch, "REJECT_POLICY"},
      {Defect::kNoSemicolon, "FAIL_PARSE"}, {Defect::kUndeclared, "FAIL_COMPILE"}};
  const auto tasks = planned_tasks();
  for (const auto& [defect, kind] : refused) {
    size_t found = 0;
    for (const char* name : {"gpu_scale_shift_relu", "gpu_leaky_shift_f16"}) {
      const Task task = env::find_task(tasks, name);
      const Program program = lower(task);
      for (auto style : styles(program)) {
        style.defects.set(size_t(defect));
        const auto source = write_kernel(program, style);
        if (!source || found > 1) continue;
        ++found;
        const auto words = words_of_plan(task, *source);
        EXPECT_TRUE(words.starts_with(kind)) << words << "\n" << *source;
      }
    }
    EXPECT_GT(found, 0u) << size_t(defect);
  }
}

}  // namespace
}  // namespace temper::traces
