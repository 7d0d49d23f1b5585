// From a profiler's records to what a verdict says of them.

#include "env/gpu/profile.h"

#include <gtest/gtest.h>

#include "env/box/wire.h"
#include "env/plan/kernel_name.h"

namespace temper::env {
namespace {

using Kind = DeviceRecord::Kind;

// A copy, first, second, first.
LaunchPlan plan_of_four() {
  LaunchPlan plan;
  plan.kernels = {{.name = "_Z5firstPf"}, {.name = "_Z6secondPf"}};
  KernelLaunch first, second;
  first.grid = {7};
  second.kernel = 1;
  second.block = {32};
  plan.steps = {Copy{}, first, second, first};
  return plan;
}

std::vector<DeviceRecord> records_of_four() {
  return {{Kind::kCopy, 1000, 2000},
          {Kind::kKernel, 10'000, 12'000, {7}, {}},
          {Kind::kKernel, 3000, 6000, {7}, {}},
          {Kind::kKernel, 5000, 9000, {}, {32}}};  // begins before the first has ended
}

TEST(GpuProfile, AddsUpWhatOverlapsOnce) {
  const ProfileWire wire = summarize(records_of_four(), plan_of_four());
  EXPECT_EQ(wire.device_us, 9);
  EXPECT_EQ(wire.kernel_us, 8);
  ASSERT_EQ(wire.parts, 3);
  EXPECT_EQ(text_of(wire.part[0].name), "first");
  EXPECT_EQ(wire.part[0].us, 5);
  EXPECT_EQ(wire.part[0].launches, 2u);
  EXPECT_EQ(text_of(wire.part[1].name), "second");
  EXPECT_EQ(wire.part[1].us, 4);
  EXPECT_EQ(text_of(wire.part[2].name), "(copy)");
  EXPECT_EQ(text_of(wire.foreign), "");
}

TEST(GpuProfile, SaysNothingWhereRecordsAreMissing) {
  for (size_t i = 1; i < 4; ++i) {
    auto records = records_of_four();
    records.erase(records.begin() + ptrdiff_t(i));
    EXPECT_EQ(summarize(records, plan_of_four()).parts, 0) << i;
  }
  auto late = records_of_four();
  late[2].begin_ns = late[2].end_ns = 0;
  EXPECT_EQ(summarize(late, plan_of_four()).parts, 0);
  auto more = records_of_four();
  more.push_back({Kind::kMemset, 13'000, 14'000});
  EXPECT_EQ(summarize(more, plan_of_four()).parts, 0);
  auto without_copy = records_of_four();
  without_copy.erase(without_copy.begin());
  EXPECT_EQ(summarize(without_copy, plan_of_four()).parts, 2);  // a copy of nothing leaves no record
}

TEST(GpuProfile, FindsKernelsThatThePlanDoesNotLaunch) {
  EXPECT_EQ(text_of(summarize(records_of_four(), plan_of_four()).foreign), "");
  auto more = records_of_four();
  more.push_back({Kind::kKernel, 13'000, 14'000, {7}, {}});
  EXPECT_EQ(text_of(summarize(more, plan_of_four()).foreign), "4 kernels ran, its launcher starts 3");
  EXPECT_EQ(summarize(more, plan_of_four()).parts, 0);
  auto other = records_of_four();
  other[3].block.x = 64;
  EXPECT_EQ(text_of(summarize(other, plan_of_four()).foreign), "1x1x1 blocks of 64x1x1 ran unasked");
  EXPECT_EQ(summarize(other, plan_of_four()).parts, 0);
}

TEST(GpuProfile, MeasuresByTheNearerRoof) {
  const Task task = parse_tasks(
      "{name: t, language: cuda, reference: x, inputs: {x: [n]}, outputs: {y: [n]}, check: [{n: 5}], "
      "timed: {n: 1000}, bytes: 4000, flops: 8192000}",
      "t")[0];
  GpuFactsWire gpu;
  gpu.bytes_per_s = 1e9;
  gpu.multiprocessors = 100;
  gpu.clock_hz = 1e9;  // 4096 · 1e11 / 3 operations a second
  const ProfileWire wire = summarize(records_of_four(), plan_of_four());
  const Profile profile = profile_of(wire, task, gpu, 8);
  EXPECT_EQ(profile.roof, "memory");  // 4 µs against 0.06
  EXPECT_DOUBLE_EQ(profile.roof_share, 0.5);
  EXPECT_DOUBLE_EQ(profile.bytes_per_s, 5e8);
  EXPECT_DOUBLE_EQ(profile.flops_per_s, 1.024e12);
  EXPECT_DOUBLE_EQ(profile.kernels[0].share, 5.0 / 9);
  gpu.bytes_per_s = 1e12;
  EXPECT_EQ(profile_of(wire, task, gpu, 8).roof, "arithmetic");
  EXPECT_DOUBLE_EQ(profile_of(wire, task, gpu, 8).roof_share, 0.06 / 8);
}

TEST(KernelTitle, IsWhatTheAuthorWrote) {
  EXPECT_EQ(kernel_title("_Z4workPKfPfi"), "work");
  EXPECT_EQ(kernel_title("_ZL4workPKfPfi"), "work");
  EXPECT_EQ(kernel_title("good"), "good");
  EXPECT_EQ(kernel_title("_Z7softmaxILi256EfEvPKT0_PS0_i"), "softmax<256,float>");
  EXPECT_EQ(kernel_title("_Z4tileILin1ELb1E6float4EvPT1_"), "tile<-1,1,float4>");
  EXPECT_EQ(kernel_title("_ZN12_GLOBAL__N_14tile3runILi8EEEvPf"), "run<8>");
  EXPECT_EQ(kernel_title("_Z3mapIPfEvT_"), "map<...>");
  EXPECT_EQ(kernel_title("_Z3mapI4pairIfS0_EEvT_"), "map<pair<float,...>,...>");
}

TEST(KernelTitle, EndsWhateverTheName) {
  for (const std::string name : {"_Z", "_ZN", "_Z9", "_Z99999999999999999999work", "_Z4wor", "_ZNK", "_ZL",
                                 "", "_Z1aI", "_Z1aIL", "_Z1aILi", "_Z1aILi5", "_Z1aI1bI1cI1dI1eI"})
    EXPECT_LE(kernel_title(name).size(), kMaxKernelTitleBytes) << name;
  std::string nested = "_Z1a";
  for (int i = 0; i < 3000; ++i) nested += "I1b";
  EXPECT_LE(kernel_title(nested).size(), kMaxKernelTitleBytes);
  EXPECT_EQ(kernel_title(std::string(8192, 'x')).size(), kMaxKernelTitleBytes);
}

}  // namespace
}  // namespace temper::env
