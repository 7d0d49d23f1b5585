#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "env/plan/plan.h"

namespace temper::env {
namespace {

const PlanBuffers kBuffers{.inputs = {4096, 64}, .outputs = {4096}};

// [16, 64] of bf16 in rows of 144 bytes, from the second row of a workspace that ends behind it.
TensorMap rich_map() {
  return {.at = 64,
          .pointer = {Space::kWorkspace, 2, 144},
          .element_type = 9,
          .swizzle = 3,
          .fill = 1,
          .sizes = {64, 16},
          .strides = {144},
          .box = {64, 8}};
}

// Every kind of step, every field away from its default.
LaunchPlan rich_plan() {
  LaunchPlan plan;
  plan.kernels = {{"_Z3addPKfPfi", 100'000, 50, true}, {"_Z6reducePf", 0, -1, false, 1}};
  plan.workspaces = {1024, 77, 144 + 15 * 144 + 128};
  KernelLaunch launch{.kernel = 1, .grid = {12, 2, 3}, .block = {128, 2, 1}, .cluster = {4, 1, 1}};
  launch.shared_bytes = 90'000;
  launch.cooperative = launch.programmatic = true;
  launch.arguments.assign(192, 0);
  launch.arguments[24] = 9;
  launch.relocations = {{0, {Space::kInput, 1, 16}}, {16, {Space::kWorkspace, 1, 77}}};
  launch.tensor_maps = {rich_map()};
  plan.steps = {launch, Memset{{Space::kWorkspace, 0, 4}, 0xFF00FF, 4, 255},
                Copy{{Space::kOutput, 0, 0}, {Space::kInput, 0, 96}, 4000}};
  return plan;
}

// A memset whose value tells it from others.
Memset marked(uint32_t value, uint32_t workspace = 0) {
  return {{Space::kWorkspace, workspace, 0}, value, 1, 64};
}

KernelLaunch plain_launch(uint32_t kernel) {
  return {.kernel = kernel, .grid = {}, .block = {}, .cluster = {}};
}

// Two slots; the second one is chosen twice, and the second time offers less.
LaunchPlan open_plan() {
  LaunchPlan plan;
  plan.kernels = {{"unused"}, {"k", 0, -1, false, 0}, {"k", 0, -1, false, 1}};
  plan.workspaces = {100, 200, 300};
  plan.steps = {marked(1, 2), marked(2, 2)};
  plan.choices = {
      {0, 7, {{3, "BLOCK: 64", {marked(10, 1), plain_launch(1)}}, {1, "BLOCK: 128", {plain_launch(2)}}}},
      {0, 2, {{0, "few", {marked(20, 2)}}, {5, "", {}}}},
      {2, 2, {{9, "other", {marked(30, 2)}}, {0, "few", {marked(31, 2)}}}}};
  return plan;
}

std::string error_of(const LaunchPlan& plan) {
  LaunchPlan parsed;
  return parse_plan(serialize(plan), parsed);
}

TEST(LaunchPlan, ComesBackAsItWas) {
  for (const LaunchPlan& plan : {LaunchPlan{}, rich_plan(), open_plan()}) {
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
      {[&](auto& plan) { launch(plan).relocations[1].at = 185; }, "overlap"},
      {[&](auto& plan) { launch(plan).relocations = {{185, {}}}; }, "overlap"},
      {[&](auto& plan) { launch(plan).arguments.resize(191); }, "outside the arguments"},
      {[&](auto& plan) { launch(plan).tensor_maps = {}, launch(plan).relocations[1].at = 185; },
       "outside the arguments"},
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
      {[&](auto& plan) { plan.kernels[0].cubin = kMaxPlanCubins; }, "the cubin of a kernel"},
  };
  for (const auto& [spoil, words] : kBreaks) {
    LaunchPlan plan = rich_plan();
    spoil(plan);
    EXPECT_NE(error_of(plan).find(words), std::string::npos) << words << ": " << error_of(plan);
  }
}

// What cuTensorMapEncodeTiled asks, and what would not be a map at all.
TEST(LaunchPlan, RefusesTensorMapsThatCudaWould) {
  const std::pair<std::function<void(TensorMap&)>, const char*> kBreaks[] = {
      {[](auto& map) { map.at = 8; }, "aligned to 16"},
      {[](auto& map) { map.pointer.offset = 8; }, "no multiple of 16"},
      {[](auto& map) { map.element_type = 13; }, "the element type"},
      {[](auto& map) { map.swizzle = 4; }, "the swizzle"},
      {[](auto& map) { map.swizzle = 2; }, "128 bytes in a row; at most 64"},
      {[](auto& map) { map.fill = 2; }, "the fill"},
      {[](auto& map) { map.element_type = 1; }, "integers with NaN"},
      {[](auto& map) { map.sizes = map.strides = {}, map.box = {}; }, "no dimension"},
      {[](auto& map) { map.sizes.resize(6, 1), map.strides.resize(5), map.box.resize(6, 1); }, "sizes"},
      {[](auto& map) { map.sizes.push_back(1); }, "do not fit together"},
      {[](auto& map) { map.strides.push_back(16); }, "do not fit together"},
      {[](auto& map) { map.box.pop_back(); }, "do not fit together"},
      {[](auto& map) { map.sizes[1] = 0; }, "a size of a tensor map"},
      {[](auto& map) { map.sizes[1] = (int64_t(1) << 32) + 1; }, "a size of a tensor map"},
      {[](auto& map) { map.strides[0] = 136; }, "a stride that is no multiple of 16"},
      {[](auto& map) { map.strides[0] = int64_t(1) << 40; }, "a stride of a tensor map"},
      {[](auto& map) { map.box[1] = 0; }, "an edge"},
      {[](auto& map) { map.box[1] = 257; }, "an edge"},
      {[](auto& map) { map.box[0] = 20; }, "40 bytes in a row, which is no multiple of 16"},
  };
  for (const auto& [spoil, words] : kBreaks) {
    LaunchPlan plan = rich_plan();
    spoil(std::get<KernelLaunch>(plan.steps[0]).tensor_maps[0]);
    EXPECT_NE(error_of(plan).find(words), std::string::npos) << words << ": " << error_of(plan);
  }
}

TEST(LaunchPlan, RefusesChoicesThatMakeNoPlan) {
  const std::pair<std::function<void(LaunchPlan&)>, const char*> kBreaks[] = {
      {[](auto& plan) { plan.choices[2].at = 3; }, "out of place"},
      {[](auto& plan) { plan.choices[0].at = 1; }, "out of place"},
      {[](auto& plan) { plan.choices[0].slot = kMaxSlots; }, "the slot of a choice"},
      {[](auto& plan) { plan.choices[0].alternatives = {}; }, "without alternatives"},
      {[](auto& plan) { plan.choices[0].alternatives[1].configuration = 3; }, "configuration 3 twice"},
      {[](auto& plan) { plan.choices[0].alternatives[1].configuration = kMaxConfigurations; },
       "the configuration of an alternative"},
      {[](auto& plan) { plan.choices[0].alternatives[1].text = "a\nb"; }, "not printable"},
      {[](auto& plan) { plan.choices[0].alternatives[1].text.resize(kMaxAlternativeText + 1, 'a'); }, "text"},
      {[](auto& plan) { plan.choices[0].alternatives[1].steps = {plain_launch(3)}; }, "no kernel 3"},
      {[](auto& plan) { plan.choices[0].alternatives.resize(kMaxAlternatives + 1); }, "alternatives"},
      {[](auto& plan) { plan.choices.resize(kMaxChoices + 1, plan.choices[2]); }, "choices"},
      {[](auto& plan) { plan.choices[0].alternatives[1].steps.resize(kMaxPlanSteps - 2, marked(0)); },
       "4098 steps with all choices made"},
  };
  for (const auto& [spoil, words] : kBreaks) {
    LaunchPlan plan = open_plan();
    spoil(plan);
    EXPECT_NE(error_of(plan).find(words), std::string::npos) << words << ": " << error_of(plan);
  }
}

TEST(LaunchPlan, IsResolvedByConfigurations) {
  const auto text_of = [](const Configurations& configurations) {
    const LaunchPlan chosen = resolve(open_plan(), configurations);
    EXPECT_EQ(error_of(chosen), "");
    EXPECT_TRUE(chosen.choices.empty());
    return plan_text(chosen);
  };
  EXPECT_EQ(text_of({}),
            "kernel k\nworkspace0 200 bytes\nworkspace1 300 bytes\n"
            "memset workspace0 to 0xa, 64 x 1 bytes\nk grid 1 block 1 ()\n"
            "memset workspace1 to 0x14, 64 x 1 bytes\nmemset workspace1 to 0x1, 64 x 1 bytes\n"
            "memset workspace1 to 0x2, 64 x 1 bytes\nmemset workspace1 to 0x1e, 64 x 1 bytes\n");
  EXPECT_EQ(text_of({{7, 1}, {2, 0}}),
            "kernel k cubin 1\nworkspace0 300 bytes\n"
            "k grid 1 block 1 ()\nmemset workspace0 to 0x14, 64 x 1 bytes\n"
            "memset workspace0 to 0x1, 64 x 1 bytes\nmemset workspace0 to 0x2, 64 x 1 bytes\n"
            "memset workspace0 to 0x1f, 64 x 1 bytes\n");
  // What a choice does not offer is its first; other slots are not looked at.
  EXPECT_EQ(text_of({{7, 9}, {2, 5}, {0, 1}}),
            "kernel k\nworkspace0 200 bytes\nworkspace1 300 bytes\n"
            "memset workspace0 to 0xa, 64 x 1 bytes\nk grid 1 block 1 ()\n"
            "memset workspace1 to 0x1, 64 x 1 bytes\nmemset workspace1 to 0x2, 64 x 1 bytes\n"
            "memset workspace1 to 0x1e, 64 x 1 bytes\n");
  EXPECT_TRUE(resolve(rich_plan(), {{0, 1}}) == rich_plan());
}

// All that names a kernel or a workspace goes along when those in front of it are dropped.
TEST(LaunchPlan, IsResolvedWithAllItsNumbers) {
  LaunchPlan plan = rich_plan();
  plan.kernels.insert(plan.kernels.begin(), {"unused"});
  plan.workspaces.insert(plan.workspaces.begin(), 5);
  const auto moved = [](DevicePointer pointer) {
    if (pointer.space == Space::kWorkspace) ++pointer.index;
    return pointer;
  };
  auto& launch = std::get<KernelLaunch>(plan.steps[0]);
  ++launch.kernel;
  launch.relocations[1].pointer = moved(launch.relocations[1].pointer);
  launch.tensor_maps[0].pointer = moved(launch.tensor_maps[0].pointer);
  auto& set = std::get<Memset>(plan.steps[1]);
  set.to = moved(set.to);
  plan.steps.push_back(Copy{{Space::kWorkspace, 1, 0}, {Space::kWorkspace, 3, 0}, 16});
  plan.choices = {{0, 0, {{0, "", {}}}}};
  LaunchPlan wanted = rich_plan();
  wanted.kernels.erase(wanted.kernels.begin());
  --std::get<KernelLaunch>(wanted.steps[0]).kernel;
  wanted.steps.push_back(Copy{{Space::kWorkspace, 0, 0}, {Space::kWorkspace, 2, 0}, 16});
  EXPECT_TRUE(resolve(plan, {}) == wanted) << plan_text(resolve(plan, {}));
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
  EXPECT_TRUE(refused([&](auto& plan) { pointer(plan, 1).index = 3; }));
  EXPECT_TRUE(refused([&](auto& plan) { std::get<Memset>(plan.steps[1]).count = 256; }));
  EXPECT_TRUE(refused([&](auto& plan) { std::get<Memset>(plan.steps[1]).to = {Space::kInput, 0, 0}; }));
  EXPECT_TRUE(refused([&](auto& plan) { std::get<Copy>(plan.steps[2]).bytes = 4001; }));
  EXPECT_TRUE(refused([&](auto& plan) { std::get<Copy>(plan.steps[2]).from = {Space::kOutput, 0, 90}; }));
  const auto in_a_choice = [](LaunchPlan& plan, const Step& step) {
    plan.choices = {{1, 0, {{0, "", {}}, {1, "", {step}}}}};
  };
  EXPECT_FALSE(refused([&](auto& plan) { in_a_choice(plan, marked(1)); }));
  EXPECT_TRUE(refused([&](auto& plan) { in_a_choice(plan, marked(1, 3)); }));
}

TEST(LaunchPlan, KeepsTensorMapsInsideTheirBuffers) {
  const auto refused = [](const std::function<void(TensorMap&)>& change) {
    LaunchPlan plan = rich_plan();
    change(std::get<KernelLaunch>(plan.steps[0]).tensor_maps[0]);
    EXPECT_EQ(error_of(plan), "");
    return !check_plan(plan, kBuffers).empty();
  };
  EXPECT_FALSE(refused([](auto&) {}));
  EXPECT_TRUE(refused([](auto& map) { map.pointer.offset += 16; }));
  EXPECT_TRUE(refused([](auto& map) { map.pointer.index = 3; }));
  EXPECT_TRUE(refused([](auto& map) { map.sizes[0] = 65; }));
  EXPECT_TRUE(refused([](auto& map) { map.sizes[1] = 17; }));
  EXPECT_TRUE(refused([](auto& map) { map.strides[0] = 160; }));
  EXPECT_FALSE(refused([](auto& map) { map.strides[0] = 0, map.sizes[1] = int64_t(1) << 32; }));
  // 2^33 rows of 2^31 bytes are 2^64 bytes, and so is one more row in each of five dimensions.
  constexpr int64_t kFar = int64_t(1) << 39, kMany = int64_t(1) << 32;
  EXPECT_TRUE(refused([](auto& map) { map.sizes[1] = kMany, map.strides[0] = kFar; }));
  EXPECT_TRUE(refused([](auto& map) {
    map.sizes = {64, kMany, kMany, kMany, kMany};
    map.strides = {kFar, kFar, kFar, kFar};
    map.box = {64, 1, 1, 1, 1};
  }));
}

// Whatever the bytes, there is an error or a plan that is the same again.
TEST(LaunchPlan, SurvivesAnyBytes) {
  std::mt19937_64 random(1);
  const std::string goods[] = {serialize(rich_plan()), serialize(open_plan())};
  int taken = 0;
  for (int round = 0; round < 200'000; ++round) {
    std::string bytes = goods[round % 2];
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
    const LaunchPlan chosen = resolve(plan, {{7, 1}});
    ASSERT_EQ(parse_plan(serialize(chosen), again), "");
  }
  EXPECT_GT(taken, 1000);
}

TEST(LaunchPlan, IsReadable) {
  EXPECT_EQ(
      plan_text(rich_plan()),
      "kernel _Z3addPKfPfi max_dynamic_shared 100000 carveout 50% nonportable_cluster\n"
      "kernel _Z6reducePf cubin 1\n"
      "workspace0 1024 bytes\n"
      "workspace1 77 bytes\n"
      "workspace2 2432 bytes\n"
      "_Z6reducePf grid 12x2x3 block 128x2 cluster 4 shared 90000 cooperative programmatic "
      "(input1+16 00000000 00000000 workspace1+77 00000009 00000000 00000000 00000000 00000000 00000000 "
      "00000000 00000000 00000000 00000000 map(workspace2+144 bf16 [64, 16] strides [144] box [64, 8] "
      "swizzle 128 fill nan))\n"
      "memset workspace0+4 to 0xff00ff, 255 x 4 bytes\n"
      "copy input0+96 to output0, 4000 bytes\n");
  EXPECT_EQ(plan_text(open_plan()),
            "kernel unused\n"
            "kernel k\n"
            "kernel k cubin 1\n"
            "workspace0 100 bytes\n"
            "workspace1 200 bytes\n"
            "workspace2 300 bytes\n"
            "slot 7 configuration 3: BLOCK: 64\n"
            "  memset workspace1 to 0xa, 64 x 1 bytes\n"
            "  k grid 1 block 1 ()\n"
            "slot 7 configuration 1: BLOCK: 128\n"
            "  k grid 1 block 1 ()\n"
            "slot 2 configuration 0: few\n"
            "  memset workspace2 to 0x14, 64 x 1 bytes\n"
            "slot 2 configuration 5: \n"
            "memset workspace2 to 0x1, 64 x 1 bytes\n"
            "memset workspace2 to 0x2, 64 x 1 bytes\n"
            "slot 2 configuration 9: other\n"
            "  memset workspace2 to 0x1e, 64 x 1 bytes\n"
            "slot 2 configuration 0: few\n"
            "  memset workspace2 to 0x1f, 64 x 1 bytes\n");
}

}  // namespace
}  // namespace temper::env
