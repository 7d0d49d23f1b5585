// What the GPU half of the judge computes without a GPU.

#include "env/gpu/case.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <set>

#include "env/box/shared_memory.h"
#include "env/gpu/descriptor.h"
#include "env/judge/lane_messages.h"
#include "env/plan/gpu_candidate.h"
#include "env/procedure/gpu_procedure.h"

namespace temper::env {
namespace {

Task gpu_task(const std::string& more) {
  return parse_tasks(
      "{name: one, language: cuda, reference: x, inputs: {x: {shape: [n], type: bf16}, z: {shape: [n], "
      "uniform: [1, 3]}, i: {shape: [7], type: i32, below: n}}, outputs: {y: [n, 3]}, check: [{n: 5}], "
      "timed: {n: 1000}" +
          more + "}",
      "test")[0];
}

TEST(GpuCase, BuffersLieApartWithGuardsEverywhereElse) {
  const CallLayout layout = gpu_layout({10, 4000}, {2}, {100'000});
  std::vector<Buffer> all(layout.guards.begin(), layout.guards.end());
  for (const auto* buffers : {&layout.inputs, &layout.outputs, &layout.workspaces}) {
    for (const Buffer& buffer : *buffers) {
      EXPECT_EQ(buffer.offset % kGpuBufferAlign, 0);
      all.push_back(buffer);
    }
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
  int64_t end = 0;
  for (const Buffer& part : all) {
    EXPECT_EQ(part.offset, end);
    end += part.bytes;
  }
  EXPECT_EQ(end, layout.bytes);
  ASSERT_EQ(layout.guards.size(), 5u);
  for (const Buffer& guard : layout.guards) {
    EXPECT_GE(guard.bytes, kGpuGuardBytes);
    EXPECT_EQ((guard.offset + guard.bytes) % 8,
              0);  // the kernel that looks at them reads words up to the end
  }
}

constexpr GpuWindowSizes kWindows{1 << 20, 3 << 20};

TEST(GpuCase, BuffersApartEndOrBeginWhereTheirWindowsDo) {
  for (const Placement placement : {Placement::kEndAtGap, Placement::kBeginAtGap}) {
    const CallLayout layout =
        gpu_layout_apart({4000, kWindows.bytes - kGpuGuardBytes}, {2}, kWindows, placement);
    std::vector<Buffer> all = layout.inputs;
    all.insert(all.end(), layout.outputs.begin(), layout.outputs.end());
    ASSERT_EQ(all.size(), 3u);
    for (size_t i = 0; i < all.size(); ++i) {
      const int64_t first = int64_t(i) * kWindows.stride, last = first + kWindows.bytes;
      EXPECT_EQ(all[i].offset % kGpuBufferAlign, 0);
      const int64_t end = all[i].offset + all[i].bytes;
      EXPECT_TRUE(placement == Placement::kBeginAtGap ? all[i].offset == first
                                                      : end <= last && end + kGpuBufferAlign > last)
          << i;
      int64_t guarded = 0;
      for (const Guard& guard : layout.guards) {
        if (guard.before != i) continue;
        EXPECT_EQ(guard.behind, i);
        EXPECT_TRUE(guard.offset == end || guard.offset + guard.bytes == all[i].offset);
        EXPECT_TRUE(guard.offset >= first && guard.offset + guard.bytes <= last);
        guarded += guard.bytes;
      }
      EXPECT_GE(guarded, kGpuGuardBytes);
    }
  }
}

TEST(GpuCase, WhatFitsAWindowHasAGuardInIt) {
  const Task task = gpu_task("");
  const int64_t most = (kGpuWindowBytes - kGpuGuardBytes) / 12;  // of the output, 3 elements of f32 each
  EXPECT_TRUE(fits_windows(task, {{"n", most}}));
  EXPECT_FALSE(fits_windows(task, {{"n", most + kGpuBufferAlign / 12}}));
}

TEST(GpuCase, WorkspacesAreAddedWithTheirGuards) {
  CallLayout layout = gpu_layout_apart({4000}, {2}, kWindows, Placement::kEndAtGap);
  const size_t guards = layout.guards.size();
  const CallLayout own = gpu_layout({}, {}, {500, 70});
  add_workspaces(layout, own, -10'000);
  ASSERT_EQ(layout.workspaces.size(), 2u);
  EXPECT_EQ(layout.workspaces[1].offset, own.workspaces[1].offset - 10'000);
  ASSERT_EQ(layout.guards.size(), guards + 3);
  EXPECT_EQ(layout.guards[guards + 1].offset, own.guards[1].offset - 10'000);
  EXPECT_EQ(layout.guards[guards + 1].before, 2u);
  EXPECT_EQ(layout.guards[guards + 1].behind, 3u);
}

TEST(GpuCase, DrawsFollowTheTaskAndTheSeed) {
  const Task task = gpu_task("");
  const GpuDraw draw{.shape = 0, .spike = 1, .magnitude = 30, .seed = 7};
  const auto specs = draw_specs(task, draw);
  ASSERT_EQ(specs.size(), 3u);
  EXPECT_EQ(specs[0].type, ElementType::kBF16);
  EXPECT_EQ(specs[0].elements, 5);
  EXPECT_EQ(specs[0].scale, 30);
  EXPECT_EQ(specs[0].spike, -1);
  EXPECT_EQ(specs[1].distribution, Distribution::kUniform);
  EXPECT_EQ(specs[1].form.low, 1);
  EXPECT_EQ(specs[1].form.width, 2);
  EXPECT_GE(specs[1].spike, 0);
  EXPECT_LT(specs[1].spike, 5);
  EXPECT_EQ(specs[2].distribution, Distribution::kIndex);
  EXPECT_EQ(specs[2].form.bound, 5u);
  GpuDraw other = draw;
  other.seed = 8;
  std::set<uint64_t> keys;
  for (const auto& some : {specs, draw_specs(task, other)})
    for (const auto& spec : some) keys.insert(spec.key);
  EXPECT_EQ(keys.size(), 6u);
}

TEST(GpuCase, ATurnsKindsMakeForms) {
  const Task task = gpu_task("");
  GpuDraw draw{.shape = 0, .seed = 7};
  EXPECT_TRUE(draw.plain());
  for (const DrawSpec& spec : draw_specs(task, draw)) EXPECT_EQ(spec.form.kind, DrawKind::kPlain);
  draw.kind[0] = DrawKind::kRise;
  draw.far[0] = 1;
  EXPECT_FALSE(draw.plain());
  const DrawForm one = draw_specs(task, draw)[0].form;
  draw.far[0] = 3;
  const DrawForm nearer = draw_specs(task, draw)[0].form;
  EXPECT_EQ(one.kind, DrawKind::kRise);
  EXPECT_NE(one.offset, 0);
  EXPECT_LT(std::abs(nearer.offset), std::abs(one.offset));
}

// As on CPUs (DrawForms.LongSumsInPlainOrderStayRight): few elements of a long row may be equal.
TEST(GpuCase, FormsKnowTheLongestSum) {
  const Task task = parse_tasks(
      "{name: sums, language: cuda, reference: x.sum(-1), inputs: {x: [n, m]}, outputs: {y: [n]}, "
      "check: [{n: 3, m: 5}], timed: {n: 4, m: 65536}}",
      "test")[0];
  const GpuDraw draw{.seed = 7, .kind = {DrawKind::kZeros}, .far = {1}};
  EXPECT_LE(draw_specs(task, draw)[0].form.share, 0x1p32 * 128 / 65536);
}

// Half of a guard is like the buffer before it, and half like the one behind.
TEST(GpuCase, EveryByteThatIsNoInputIsFilled) {
  const GpuBufferTypes types{{ElementType::kBF16}, {ElementType::kI32}};
  const CallLayout layout = gpu_layout({10}, {2000}, {100});
  const Zones guards = guard_zones(layout, types, {.key = 1, .call = 2}, 512),
              filled = filled_zones(layout, types, {.key = 1, .call = 2}, 512);
  ASSERT_EQ(guards.count, 4u);
  ASSERT_EQ(filled.count, 2u);
  EXPECT_EQ(guards.begin[0], 512u);
  EXPECT_EQ(guards.end[3], uint64_t(512 + layout.bytes));
  EXPECT_EQ(guards.front[1], FillType::kGuardBF16);
  EXPECT_EQ(guards.back[1], FillType::kGuardF32);
  EXPECT_EQ(filled.front[0], FillType::kI32);
  EXPECT_EQ(filled.begin[0], uint64_t(512 + layout.outputs[0].offset));
  EXPECT_EQ(filled.end[1], uint64_t(512 + layout.workspaces[0].offset + 100));
  EXPECT_NE(guards.key[0], guards.key[1]);
}

// A zero may be anybody's: beside what is not it is the judge's.
TEST(GpuCase, WhatNobodyHasWrittenIsToldFromZeros) {
  std::vector<uint32_t> filled(100, 0), found(100, 0);
  filled[40] = 0x7FC00001;
  EXPECT_EQ(left_alone(ElementType::kF32, filled, found), std::vector<bool>(100, false));
  found[40] = filled[40];
  const auto alone = left_alone(ElementType::kF32, filled, found);
  for (size_t i = 0; i < 100; ++i) EXPECT_EQ(alone[i], i >= 24 && i <= 56) << i;
  found[41] = 1;
  EXPECT_FALSE(left_alone(ElementType::kF32, filled, found)[41]);
  filled[40] = found[40] = 0x40000007;
  EXPECT_TRUE(left_alone(ElementType::kI32, filled, found)[39]);
  filled[40] = found[40] = ~0u;
  EXPECT_FALSE(left_alone(ElementType::kI32, filled, found)[40]);
}

TEST(GpuCase, TheExchangeHoldsTheLargestOutputsOfABatch) {
  EXPECT_EQ(exchange_bytes({gpu_task("")}), kMaxBatch * 12'032);
}

TEST(GpuCase, ABatchIsWhatFitsAndAtLeastOne) {
  const auto task = [](const char* timed) {
    return parse_tasks(
        std::string("{name: t, language: cuda, reference: 2 * x, inputs: {x: [n]}, outputs: {y: "
                    "[n]}, check: [{n: 3}], timed: {n: ") +
            timed + "}}",
        "t")[0];
  };
  const std::vector<GpuDraw> timed(20), mixed{{.shape = 0}, {.shape = -1}, {.shape = 0}};
  EXPECT_EQ(batch_of(task("9"), timed), size_t(kMaxBatch));
  EXPECT_EQ(batch_of(task("9"), {timed.begin(), timed.begin() + 2}), 2u);
  EXPECT_EQ(batch_of(task("8388608"), timed), 8u);  // 32 MiB of outputs each
  EXPECT_EQ(batch_of(task("67108864"), timed), 1u);
  EXPECT_EQ(batch_of(task("67108864"), mixed), 1u);
  EXPECT_EQ(batch_of(task("9"), mixed), 3u);
}

TEST(GpuCase, CandidatesArriveWholeOrNotAtAll) {
  const GpuCandidate candidate{
      .cubins = {std::string("\0ELF\n", 5), "two"}, .plans = {"", "plan"}, .compile_ms = 12.5, .plan_ms = 3};
  const std::string bytes = to_bytes(candidate);
  const auto back = gpu_candidate_from(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->cubins, candidate.cubins);
  EXPECT_EQ(back->plans, candidate.plans);
  EXPECT_EQ(back->compile_ms, 12.5);
  EXPECT_EQ(back->plan_ms, 3);
  const size_t plan = 8 + 4, empty_plan = 8;  // cut between plans it is a candidate with fewer of them
  for (size_t size = 0; size < bytes.size(); ++size) {
    const bool between = size == bytes.size() - plan || size == bytes.size() - plan - empty_plan;
    EXPECT_EQ(gpu_candidate_from(bytes.substr(0, size)).has_value(), between) << size;
  }
  std::string longer = bytes;
  longer[16 + 8 + 7] = '\x7f';  // a length of 2^62 bytes
  EXPECT_FALSE(gpu_candidate_from(longer));
  std::string many = bytes;
  many[16 + 1] = '\x7f';  // cubins
  many.append(1 << 20, '\0');
  EXPECT_FALSE(gpu_candidate_from(many));
}

TEST(GpuCase, AnswersOfLanesCarryAnyBytes) {
  LaneAnswer answer;
  answer.verdict.message = "a\nb";
  answer.prepared = std::string("x\0\n{\xff", 5);
  const LaneAnswer back = lane_answer_from(to_text(answer));
  EXPECT_EQ(back.verdict.message, "a\nb");
  EXPECT_EQ(back.prepared, answer.prepared);
  EXPECT_EQ(lane_answer_from(to_text(LaneAnswer{})).prepared, "");
}

TEST(GpuCase, DescriptorsTravel) {
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
  const Fd one(pair[0]), other(pair[1]), memory = sealed_memory("test", 8);
  Mapping(memory.get(), 8).data()[3] = 42;
  ASSERT_TRUE(send_descriptor(one.get(), memory.get()));
  const Fd arrived = receive_descriptor(other.get(), std::chrono::seconds(1));
  ASSERT_TRUE(arrived);
  EXPECT_EQ(map_whole(arrived.get()).data()[3], 42);
  EXPECT_FALSE(receive_descriptor(other.get(), std::chrono::milliseconds(1)));
}

TEST(GpuCase, TheFloorIsWhatTheGpuCannotPass) {
  GpuFactsWire gpu;
  gpu.multiprocessors = 100;
  gpu.clock_hz = 1e9;
  gpu.bytes_per_s = 1e12;
  gpu.l2_bytes = 6000;
  EXPECT_EQ(gpu_floor_us(gpu_task(""), gpu), 1);  // an empty kernel
  // Outputs may stay in the cache: 1 ms for the rest, of which nine tenths are asked.
  EXPECT_NEAR(gpu_floor_us(gpu_task(", bytes: 1000000*n+6000"), gpu), 900, 1e-6);
  EXPECT_NEAR(gpu_bounds(gpu_task(", bytes: 1000000*n+6000"), gpu).roof_us, 1000.006, 1e-6);
  // bf16: 4096 a cycle and multiprocessor.
  EXPECT_NEAR(gpu_floor_us(gpu_task(", flops: 409600000*n"), gpu), 900, 1e-6);
}

}  // namespace
}  // namespace temper::env
