#include "env/procedure/open_candidate.h"

#include <gtest/gtest.h>

namespace temper::env {
namespace {

KernelLaunch bare_launch(uint32_t kernel) {
  return {.kernel = kernel, .grid = {}, .block = {}, .cluster = {}};
}

// Slot 3 has configurations 0 and 4, in cubins 0 and 2, and slot 1 has one.
LaunchPlan tuned_timed_plan() {
  LaunchPlan plan;
  plan.kernels = {{.name = "k", .cubin = 0}, {.name = "k", .cubin = 2}, {.name = "other", .cubin = 1}};
  plan.choices = {{0, 3, {{0, "BLOCK: 64", {bare_launch(0)}}, {4, "BLOCK: 128", {bare_launch(1)}}}},
                  {0, 1, {{7, "", {bare_launch(2)}}}},
                  {0, 3, {{0, "again", {bare_launch(0)}}}}};
  return plan;
}

// Slot 3 does not offer configuration 4 here. Two kernels are of one cubin.
LaunchPlan tuned_check_plan() {
  LaunchPlan plan;
  plan.kernels = {{.name = "k", .cubin = 3}, {.name = "l", .cubin = 3}};
  plan.choices = {{0, 3, {{9, "few", {bare_launch(0), bare_launch(1)}}}}};
  return plan;
}

GpuCandidate tuned_candidate() {
  return {.cubins = {"a", "b", "c", "d"},
          .plans = {serialize(tuned_check_plan()), serialize(tuned_timed_plan())},
          .compile_ms = 5,
          .plan_ms = 6};
}

std::vector<LaunchPlan> read_plans(const GpuCandidate& some) {
  std::vector<LaunchPlan> plans;
  for (const std::string& text : some.plans) EXPECT_EQ(parse_plan(text, plans.emplace_back()), "");
  return plans;
}

TEST(OpenCandidate, HasOnlyWhatItsChoicesNeed) {
  const GpuCandidate whole = tuned_candidate();
  const OpenCandidate open(whole);
  ASSERT_TRUE(open.open());
  const GpuCandidate chosen = open.chosen({{3, 4}});
  EXPECT_EQ(chosen.cubins, (std::vector<std::string>{"d", "a", "c", "b"}));
  EXPECT_EQ(chosen.compile_ms, 5);
  EXPECT_EQ(chosen.plan_ms, 6);
  const auto plans = read_plans(chosen);
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_TRUE(plans[0].choices.empty() && plans[1].choices.empty());
  ASSERT_EQ(plans[0].kernels.size(), 2u);
  EXPECT_EQ(plans[0].kernels[0].cubin, 0u);
  EXPECT_EQ(plans[0].kernels[1].cubin, 0u);
  // The last choice does not offer the configuration, and takes its first.
  ASSERT_EQ(plans[1].kernels.size(), 3u);
  EXPECT_EQ(plans[1].kernels[0].cubin, 1u);
  EXPECT_EQ(plans[1].kernels[1].cubin, 2u);
  EXPECT_EQ(plans[1].kernels[2].cubin, 3u);
  EXPECT_EQ(plans[1].steps.size(), 3u);

  const GpuCandidate alone = open.timed_alone({});
  EXPECT_EQ(alone.cubins, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(read_plans(alone).size(), 1u);
}

TEST(OpenCandidate, ListsEachSlotOfTheTimedShapeOnce) {
  const GpuCandidate whole = tuned_candidate();
  const OpenCandidate open(whole);
  ASSERT_EQ(open.slots().size(), 2u);
  EXPECT_EQ(open.slots()[0]->slot, 3u);
  EXPECT_EQ(open.slots()[0]->alternatives.size(), 2u);
  EXPECT_EQ(open.slots()[1]->slot, 1u);
  EXPECT_EQ(open.words({{3, 4}}), "configuration 2 of 2: BLOCK: 128; configuration 1 of 1");
  EXPECT_EQ(open.words({}), "configuration 1 of 2: BLOCK: 64; configuration 1 of 1");
}

TEST(OpenCandidate, LeavesPlansWithoutChoicesAndNoPlansAlone) {
  GpuCandidate closed = tuned_candidate();
  closed.plans = {serialize(LaunchPlan{}), serialize(LaunchPlan{})};
  EXPECT_FALSE(OpenCandidate(closed).open());
  GpuCandidate damaged = tuned_candidate();
  damaged.plans[1] = "no plan at all";
  EXPECT_FALSE(OpenCandidate(damaged).open());
  // A choice of a check shape alone is one, too.
  GpuCandidate in_checks = tuned_candidate();
  in_checks.plans[1] = serialize(LaunchPlan{});
  const OpenCandidate open(in_checks);
  EXPECT_TRUE(open.open());
  EXPECT_TRUE(open.slots().empty());
  EXPECT_EQ(open.words({}), "");
  EXPECT_EQ(open.chosen({}).cubins, std::vector<std::string>{"d"});
}

TEST(OpenCandidate, KeepsAnIndexForWhichThereIsNoCubin) {
  GpuCandidate few = tuned_candidate();
  few.cubins.resize(1);
  const OpenCandidate open(few);
  const auto plans = read_plans(open.chosen({{3, 4}}));
  EXPECT_EQ(plans[1].kernels[1].cubin, 2u);
}

}  // namespace
}  // namespace temper::env
