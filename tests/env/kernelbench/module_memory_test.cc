#include "env/kernelbench/module_memory.h"

#include <gmock/gmock.h>

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
      module_sizes(*module_options(),
                   {module_task("linear_relu", kModuleProblem), cuda, module_task("values", with_values),
                    module_task("broken", "import no_such_package\n"), short_floats});
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

// Worked out by hand.
TEST(ModuleMemory, IsTheSumOfWhatProcessesHold) {
  const ModuleProblem problem{};
  const ModuleMemory small = module_memory({.inputs = 100, .weights = 20, .outputs = 10}, problem, 80 * kGiB);
  EXPECT_EQ(small.exchange, 2 * 100 + 20 + 10);
  EXPECT_EQ(small.reference, 4 * 20 + 100 + 3 * 10 + 2 * (100 + 10));
  EXPECT_EQ(small.draws, 24 * (100 + 2 * 10) + 5 * (100 + 10));
  EXPECT_EQ(small.modules, 2 * (20 + 10));
  EXPECT_EQ(small.contexts, 5 * (int64_t(600) << 20));
  EXPECT_EQ(small.sum(), 230 + 430 + 3430 + 60 + small.contexts);
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
