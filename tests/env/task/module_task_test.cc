#include <gtest/gtest.h>

#include "base/error.h"
#include "env/task/task.h"
#include "env/task/task_json.h"

namespace temper::env {
namespace {

Task relu_problem() {
  Task task;
  task.name = "level1_19_relu";
  task.language = "kernelbench";
  task.family = "level1";
  task.split = Split::kHeldOut;
  task.reference = "class Model: pass\n";
  task.module =
      ModuleProblem{.level = 1, .id = 19, .file = "19_ReLU.py", .precision = "bf16", .tolerance = 1e-2};
  return task;
}

TEST(ModuleTask, ComesBackFromJson) {
  const Task back = tasks_from_json(tasks_to_json({relu_problem()})).at(0);
  EXPECT_EQ(back.reference, relu_problem().reference);
  ASSERT_TRUE(back.module);
  EXPECT_EQ(back.module->level, 1);
  EXPECT_EQ(back.module->id, 19);
  EXPECT_EQ(back.module->file, "19_ReLU.py");
  EXPECT_EQ(back.module->precision, "bf16");
  EXPECT_EQ(back.module->tolerance, 1e-2);
  EXPECT_EQ(back.module->correct_trials, 5);
  EXPECT_EQ(back.module->timed_trials, 100);
  EXPECT_EQ(back.digest(), relu_problem().digest());
}

TEST(ModuleTask, DigestFollowsThePrecisionAndTheTrials) {
  const std::string before = relu_problem().digest();
  for (const auto change :
       {+[](Task& t) { t.module->precision = "fp16"; }, +[](Task& t) { t.module->tolerance = 1; },
        +[](Task& t) { t.module->correct_trials = 1; }, +[](Task& t) { t.module->timed_trials = 10; },
        +[](Task& t) { t.reference += "#"; }}) {
    Task changed = relu_problem();
    change(changed);
    EXPECT_NE(changed.digest(), before);
  }
}

TEST(ModuleTask, OtherTasksAreWrittenAsBeforeThereWereModules) {
  Task task = relu_problem();
  task.module.reset();
  EXPECT_EQ(tasks_to_json({task}).find("module"), std::string::npos);
  EXPECT_FALSE(tasks_from_json(tasks_to_json({task})).at(0).module.has_value());
}

TEST(ModuleTask, IsJudgedOnAGpuAndAsksForAClass) {
  EXPECT_TRUE(relu_problem().on_gpu());
  EXPECT_EQ(relu_problem().signature(), "class ModelNew(nn.Module):");
  EXPECT_EQ(find_language("kernelbench").form, Form::kModule);
  EXPECT_EQ(language_of_extension(".py"), &kTriton);
}

TEST(ModuleTask, TaskFilesCannotAskForOne) {
  try {
    parse_tasks("{name: a, language: kernelbench}", "f.yaml");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("'kernelbench' is not allowed; allowed: cpp, cuda, triton"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace temper::env
