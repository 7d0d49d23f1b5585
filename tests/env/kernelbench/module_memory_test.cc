#include "env/kernelbench/module_memory.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/env/module_boxes.h"

namespace temper::env {
namespace {

constexpr int64_t kGiB = int64_t(1) << 30;

TEST(ModuleMemory, TellsSizesFromShapes) {
  SKIP_WITHOUT_MODULES();
  Task cuda = module_task("other", "x * 2"), short_floats = module_task("short", kModuleProblem);
  cuda.module.reset();
  short_floats.module->precision = "bf16";
  std::string with_values = kModuleProblem;
  with_values.replace(with_values.find("torch.relu("), 11, "torch.relu(x.sum().item() * ");
  const auto sizes =
      look_at_modules(*module_options(),
                      {module_task("linear_relu", kModuleProblem), cuda, module_task("values", with_values),
                       module_task("broken", "import no_such_package\n"), short_floats})
          .sizes;
  ASSERT_EQ(sizes.size(), 5u);
  ASSERT_TRUE(sizes[0]);
  EXPECT_EQ(sizes[0]->inputs, 4 * 64 * 96);
  EXPECT_EQ(sizes[0]->weights, 4 * (96 * 96 + 96));
  EXPECT_EQ(sizes[0]->outputs, 4 * 64 * 96);
  EXPECT_FALSE(sizes[1]);
  EXPECT_FALSE(sizes[2]);
  EXPECT_FALSE(sizes[3]);
  ASSERT_TRUE(sizes[4]);
  EXPECT_EQ(sizes[4]->weights, 2 * (96 * 96 + 96));
}

// A problem that never ends counts as not known, the others are told, and no process is needed for a second look.
TEST(ModuleMemory, EndsALookAndKeepsWhatItLearned) {
  SKIP_WITHOUT_MODULES();
  std::string endless = kModuleProblem, stubborn = kModuleProblem;
  endless.replace(endless.find("torch.relu("), 11, "(lambda x: [x := x + 1 for _ in iter(int, 1)])(");
  stubborn += "\nwhile True:\n    try:\n        while True: pass\n    except BaseException: pass\n";
  const std::vector<Task> tasks{module_task("endless", endless), module_task("stubborn", stubborn),
                                module_task("linear_relu", kModuleProblem)};
  const auto file = std::filesystem::temp_directory_path() / fmt::format("temper_sizes_{}", ::getpid());
  const auto first = look_at_modules(*module_options(), tasks, file);
  ModuleBoxOptions broken = *module_options();
  broken.python.program = "/nowhere/python3";
  std::ofstream(file, std::ios::app) << "half a li";
  const auto second = look_at_modules(broken, tasks, file);
  std::filesystem::remove(file);
  for (const ModuleLook& look : {first, second}) {
    EXPECT_EQ(look.left, 0);
    EXPECT_FALSE(look.sizes.at(0));
    EXPECT_FALSE(look.sizes.at(1));
    ASSERT_TRUE(look.sizes.at(2));
    EXPECT_EQ(look.sizes.at(2)->inputs, 4 * 64 * 96);
  }
}

// Worked out by hand.
TEST(ModuleMemory, IsTheSumOfWhatProcessesHold) {
  const ModuleProblem problem{};
  const ModuleMemory small = module_memory({.inputs = 100, .weights = 20, .outputs = 10}, problem, 80 * kGiB);
  EXPECT_EQ(small.exchange, 2 * (100 + 20));
  EXPECT_EQ(small.reference, 4 * 20 + 100 + 3 * 10 + 2 * (100 + 10));
  EXPECT_EQ(small.draws, 24 * (100 + 2 * 10) + 5 * (100 + 10));
  EXPECT_EQ(small.modules, 2 * (20 + 10));
  EXPECT_EQ(small.contexts, 5 * (int64_t(600) << 20));
  EXPECT_EQ(small.sum(), 240 + 430 + 3430 + 60 + small.contexts);
  ModuleProblem short_floats = problem;
  short_floats.precision = "bf16";
  EXPECT_EQ(module_memory({100, 20, 10}, short_floats, 80 * kGiB).reference,
            6 * 20 + 100 + 3 * 10 + 4 * (100 + 10));
  // What is kept has an end where the GPU has.
  const ModuleMemory large = module_memory({8 * kGiB, 0, 8 * kGiB}, problem, 80 * kGiB);
  EXPECT_EQ(large.draws, (12 + 16) * kGiB);
}

}  // namespace
}  // namespace temper::env
