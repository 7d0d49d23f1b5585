#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "env/plan/plan.h"

namespace temper::env {
namespace {

const PlanBuffers kBuffers{.inputs = {4096, 64}, .outputs = {4096}};

// Every kind of step, every field away from its default.
LaunchPlan rich_plan() {
  LaunchPlan plan;
  plan.kernels = {{"_Z3addPKfPfi", 100'000, 50, true}, {"_Z6reducePf", 0, -1, false}};
  plan.workspaces = {1024, 77};
  KernelLaunch launch{.kernel = 1, .grid = {12, 2, 3}, .block = {128, 2, 1}, .cluster = {4, 1, 1}};
  launch.shared_bytes = 90'000;
  launch.cooperative = launch.programmatic = true;
  launch.arguments.assign(28, 0);
  launch.arguments[24] = 9;
  launch.relocations = {{0, {Space::kInput, 1, 16}}, {16, {Space::kWorkspace, 1, 77}}};
  plan.steps = {launch, Memset{{Space::kWorkspace, 0, 4}, 0xFF00FF, 4, 255},
                Copy{{Space::kOutput, 0, 0}, {Space::kInput, 0, 96}, 4000}};
  return plan;
}

std::string error_of(const LaunchPlan& plan) {
  LaunchPlan parsed;
  return parse_plan(serialize(plan), parsed);
}

TEST(LaunchPlan, ComesBackAsItWas) {
  for (const LaunchPlan& plan : {LaunchPlan{}, rich_plan()}) {
    LaunchPlan parsed;
    ASSERT_EQ(parse_plan(serialize(plan), parsed), "");
    EXPECT_TRUE(parsed == plan) << plan_text(parsed);
    EXPECT_EQ(check_plan(parsed, kBuffers), "");
  }
}

TEST(LaunchPlan, RefusesWhatIsOutOfRange) {
  const auto launch = [](LaunchPlan& plan) -> KernelLaunch& { return std::get<KernelLaunch>(plan.steps[0]); };
  const auto set = [](LaunchPlan& plan) -> Memset& { return std::get<Memset>(plan.steps[1]); };
  const std::pair<std::function<void(LaunchPlan&)>, const char*> kBreaks[] = {
      {[&](auto& plan) { launch(plan).kernel = 2; }, "no kernel 2"},
      {[&](auto& plan) { launch(plan).kernel = 0xFFFFFFFF; }, "the kernel of a launch"},
      {[&](auto& plan) { launch(plan).grid.x = 0; }, "a grid's extent is 0"},
      {[&](auto& plan) { launch(plan).grid.x = 0x80000000; }, "a grid's extent"},
      {[&](auto& plan) { launch(plan).grid.y = 65536; }, "a grid's extent"},
      {[&](auto& plan) { launch(plan).grid.x = 13; }, "no multiple of its cluster"},
      {[&](auto& plan) { launch(plan).block.z = 65; }, "a block's extent"},
      {[&](auto& plan) { launch(plan).block = {1024, 2, 1}; }, "2048 threads"},
      {[&](auto& plan) { launch(plan).cluster = {4, 2, 3}; }, "a cluster of 24"},
      {[&](auto& plan) { launch(plan).shared_bytes = 0xFFFFFFFF; }, "dynamic shared memory"},
      {[&](auto& plan) { launch(plan).relocations[1].at = 7; }, "overlap"},
      {[&](auto& plan) { launch(plan).relocations[1].at = 21; }, "outside the arguments"},
      {[&](auto& plan) { launch(plan).relocations[0].pointer.offset = -1; }, "the offset of a pointer"},
      {[&](auto& plan) { launch(plan).relocations[0].pointer.space = Space(3); }, "the space of a pointer"},
      {[&](auto& plan) { launch(plan).arguments.resize(kMaxArgumentBytes + 1); }, "arguments"},
      {[&](auto& plan) { set(plan).width = 3; }, "width 3"},
      {[&](auto& plan) { set(plan).width = 2; }, "wider than"},
      {[&](auto& plan) { set(plan).to.offset = 2; }, "not aligned"},
      {[&](auto& plan) { set(plan).count = 0; }, "the count of a memset"},
      {[&](auto& plan) { plan.workspaces[0] = 0; }, "a workspace's bytes"},
      {[&](auto& plan) { plan.workspaces[0] = kMaxWorkspaceBytes; }, "too large"},
      {[&](auto& plan) { plan.workspaces.resize(kMaxPlanWorkspaces + 1, 1); }, "workspaces"},
      {[&](auto& plan) { plan.steps.resize(kMaxPlanSteps + 1, plan.steps[1]); }, "steps"},
      {[&](auto& plan) { plan.kernels[0].name = ""; }, "a kernel's name"},
      {[&](auto& plan) { plan.kernels[0].name = "a b"; }, "a kernel's name"},
      {[&](auto& plan) { plan.kernels[0].shared_carveout = 101; }, "carve-out"},
  };
  for (const auto& [spoil, words] : kBreaks) {
    LaunchPlan plan = rich_plan();
    spoil(plan);
    EXPECT_NE(error_of(plan).find(words), std::string::npos) << words << ": " << error_of(plan);
  }
}

TEST(LaunchPlan, KeepsPointersInsideTheirBuffers) {
  const auto refused = [](const std::function<void(LaunchPlan&)>& spoil) {
    LaunchPlan plan = rich_plan();
    spoil(plan);
    EXPECT_EQ(error_of(plan), "");
    return !check_plan(plan, kBuffers).empty();
  };
  const auto pointer = [](LaunchPlan& plan, int i) -> DevicePointer& {
    return std::get<KernelLaunch>(plan.steps[0]).relocations[size_t(i)].pointer;
  };
  EXPECT_FALSE(refused([&](auto& plan) { pointer(plan, 0).offset = 64; }));  // one past the end
  EXPECT_TRUE(refused([&](auto& plan) { pointer(plan, 0).offset = 65; }));
  EXPECT_TRUE(refused([&](auto& plan) { pointer(plan, 0).index = 2; }));
  EXPECT_TRUE(refused([&](auto& plan) { pointer(plan, 1).index = 2; }));
  EXPECT_TRUE(refused([&](auto& plan) { std::get<Memset>(plan.steps[1]).count = 256; }));
  EXPECT_TRUE(refused([&](auto& plan) { std::get<Memset>(plan.steps[1]).to = {Space::kInput, 0, 0}; }));
  EXPECT_TRUE(refused([&](auto& plan) { std::get<Copy>(plan.steps[2]).bytes = 4001; }));
  EXPECT_TRUE(refused([&](auto& plan) { std::get<Copy>(plan.steps[2]).from = {Space::kOutput, 0, 90}; }));
}

// Whatever the bytes, there is an error or a plan that is the same again.
TEST(LaunchPlan, SurvivesAnyBytes) {
  std::mt19937_64 random(1);
  const std::string good = serialize(rich_plan());
  int taken = 0;
  for (int round = 0; round < 200'000; ++round) {
    std::string bytes = good;
    for (uint64_t change = random() % 4 + 1; change-- > 0;)
      bytes[random() % bytes.size()] = char(random() % 3 == 0 ? 0xFF : random());
    if (round % 3 == 0) bytes.resize(random() % (bytes.size() + 1));
    if (round % 16 == 0) bytes += std::string(random() % 9, '\1');
    LaunchPlan plan, again;
    if (!parse_plan(bytes, plan).empty()) {
      EXPECT_TRUE(plan == LaunchPlan{});
      continue;
    }
    ++taken;
    ASSERT_EQ(parse_plan(serialize(plan), again), "");
    ASSERT_TRUE(plan == again);
    check_plan(plan, kBuffers);
    plan_text(plan);
  }
  EXPECT_GT(taken, 1000);
}

TEST(LaunchPlan, IsReadable) {
  EXPECT_EQ(plan_text(rich_plan()),
            "kernel _Z3addPKfPfi max_dynamic_shared 100000 carveout 50% nonportable_cluster\n"
            "kernel _Z6reducePf\n"
            "workspace0 1024 bytes\n"
            "workspace1 77 bytes\n"
            "_Z6reducePf grid 12x2x3 block 128x2 cluster 4 shared 90000 cooperative programmatic "
            "(input1+16 00000000 00000000 workspace1+77 00000009)\n"
            "memset workspace0+4 to 0xff00ff, 255 x 4 bytes\n"
            "copy input0+96 to output0, 4000 bytes\n");
}

}  // namespace
}  // namespace temper::env
