#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "env/box/case_memory.h"
#include "env/call/case.h"
#include "env/task/task_json.h"

namespace temper::env {
namespace {

TensorSpec tensor(const std::string& name, const std::vector<std::string>& shape) {
  TensorSpec spec;
  spec.name = name;
  spec.shape = shape;
  return spec;
}

Task two_by_one() {
  Task task;
  task.name = "sum";
  task.dims = {"n", "m"};
  task.inputs = {tensor("x", {"n", "m"}), tensor("b", {"m"})};
  task.outputs = {tensor("y", {"n"})};
  task.timed_shape = {{"n", 3}, {"m", 5}};
  return task;
}

struct Memory {
  Task task = two_by_one();
  CallLayout layout = case_layout(task, task.timed_shape);
  std::vector<uint8_t> oracle = std::vector<uint8_t>(size_t(layout.bytes), 7), arena = oracle;
  LaidCase mine() { return {arena.data(), layout}; }
};

TEST(Case, KeepsBuffersApart) {
  const Task task = two_by_one();
  const CallLayout layout = case_layout(task, task.timed_shape);
  std::vector<Buffer> buffers = layout.inputs;
  buffers.insert(buffers.end(), layout.outputs.begin(), layout.outputs.end());
  int64_t end = 0;
  for (const Buffer& buffer : buffers) {
    EXPECT_GE(buffer.offset - end, kGuardBytes);
    EXPECT_EQ(buffer.offset % kBufferAlign, 0);
    end = buffer.offset + buffer.bytes;
  }
  EXPECT_GE(layout.bytes - end, kGuardBytes);
  EXPECT_EQ(layout.inputs[0].bytes, 60);
  EXPECT_EQ(dim_arguments(task, task.timed_shape), (std::vector<int64_t>{3, 5}));
}

constexpr Fill kFill{11, 3};

TEST(Case, FillsOutputsAndCopiesInputs) {
  Memory memory;
  const Buffer output = memory.layout.outputs[0];
  prepare_case(memory.mine(), memory.oracle.data(), memory.layout, kFill);
  EXPECT_EQ(memory.arena[size_t(memory.layout.inputs[0].offset)], 7);
  const auto filled = [&](const std::vector<uint8_t>& memory_of_words) {
    const auto* words = reinterpret_cast<const uint32_t*>(memory_of_words.data() + output.offset);
    return filled_words(kFill, FillKind::kFloats, output.offset / 4, output.bytes / 4, words);
  };
  EXPECT_FALSE(filled(memory.oracle));
  EXPECT_TRUE(filled(memory.arena));
  EXPECT_EQ(collect_case(memory.mine(), memory.oracle.data(), memory.layout, kFill), "");
  EXPECT_TRUE(filled(memory.oracle));
}

TEST(Case, FillsWhatLiesBehindItAsFarAsWished) {
  Memory memory;
  memory.arena.resize(size_t(memory.layout.bytes) + 8, 7);
  prepare_case(memory.mine(), memory.oracle.data(), memory.layout, kFill, 4);
  const auto* end = reinterpret_cast<const uint32_t*>(memory.arena.data() + memory.layout.bytes);
  EXPECT_TRUE(filled_words(kFill, FillKind::kGuard, memory.layout.bytes / 4, 1, end));
  EXPECT_EQ(end[1], 0x07070707u);
}

// Any four calls show every word all there is; guards are never zero.
TEST(Fill, IsAnythingOverTheCalls) {
  constexpr int64_t kWords = 1000;
  const auto kinds_of = [](uint32_t bits) {
    const float value = std::bit_cast<float>(bits);
    return std::isnan(value) ? 1 : value == 0 ? 2 : value >= 0x1p17f ? 4 : value <= -0x1p17f ? 8 : 16;
  };
  for (const auto& [kind, expected] : {std::pair{FillKind::kFloats, 15}, {FillKind::kGuard, 13}}) {
    std::vector<int> seen(kWords);
    std::vector<uint32_t> words(kWords);
    for (uint32_t call = 5; call < 9; ++call) {
      fill_words({3, call}, kind, 70, kWords, words.data());
      EXPECT_TRUE(filled_words({3, call}, kind, 70, kWords, words.data()));
      EXPECT_FALSE(filled_words({3, call + 1}, kind, 70, kWords, words.data()));
      EXPECT_FALSE(filled_words({4, call}, kind, 70, kWords, words.data()));
      for (size_t i = 0; i < kWords; ++i) seen[i] |= kinds_of(words[i]);
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), expected), kWords);
  }
}

TEST(Fill, OfIntegersIsPlausibleAndNot) {
  std::vector<int32_t> words(1000);
  int64_t minus = 0, zero = 0, large = 0, small = 0;
  fill_words({3, 1}, FillKind::kIntegers, 0, 1000, reinterpret_cast<uint32_t*>(words.data()));
  for (const int32_t word : words) {
    minus += word == -1;
    zero += word == 0;
    large += word >= 1 << 30;
    small += word > 0 && word < 8;
  }
  EXPECT_EQ(minus + zero + large + small, 1000);
  for (const int64_t count : {minus, zero, large, small}) EXPECT_GT(count, 150);
}

TEST(Case, SeesOneByteOutsideABuffer) {
  Memory memory;
  const Buffer output = memory.layout.outputs[0];
  for (const int64_t at :
       {output.offset - 1, output.offset + output.bytes, int64_t(0), memory.layout.bytes - 1}) {
    prepare_case(memory.mine(), memory.oracle.data(), memory.layout, kFill);
    memory.arena[size_t(at)] ^= 1;
    EXPECT_EQ(collect_case(memory.mine(), memory.oracle.data(), memory.layout, kFill), "guard") << at;
  }
}

// Each in pages of its own, and nothing but guards beside it.
TEST(Case, ApartBuffersEndOrBeginAtGaps) {
  const Task task = two_by_one();
  const CallLayout packed = case_layout(task, task.timed_shape);
  for (const Placement placement : {Placement::kEndAtGap, Placement::kBeginAtGap}) {
    const CallLayout laid = apart(packed, placement);
    ASSERT_EQ(laid.gaps.size(), 4u);
    EXPECT_EQ(laid.gaps.back() + kGapBytes, laid.bytes);
    std::vector<Buffer> buffers = laid.inputs;
    buffers.insert(buffers.end(), laid.outputs.begin(), laid.outputs.end());
    for (size_t i = 0; i < buffers.size(); ++i) {
      EXPECT_EQ(laid.gaps[i] % 4096, 0);
      EXPECT_EQ(buffers[i].offset % kBufferAlign, 0);
      const int64_t end = buffers[i].offset + buffers[i].bytes;
      EXPECT_TRUE(placement == Placement::kBeginAtGap
                      ? buffers[i].offset == laid.gaps[i] + kGapBytes
                      : end <= laid.gaps[i + 1] && end + kBufferAlign > laid.gaps[i + 1])
          << i;
    }
  }
}

TEST(Case, ApartIsFilledAndCollectedAsPackedIs) {
  Memory memory;
  const CallLayout laid = apart(memory.layout, Placement::kEndAtGap);
  std::vector<uint8_t> arena(size_t(laid.bytes), 9);
  const LaidCase mine{arena.data(), laid};
  const auto prepare = [&] { prepare_case(mine, memory.oracle.data(), memory.layout, kFill); };
  prepare();
  for (const int64_t gap : laid.gaps) EXPECT_EQ(arena[size_t(gap)], 9);
  EXPECT_EQ(arena[size_t(laid.inputs[1].offset)], 7);
  EXPECT_EQ(collect_case(mine, memory.oracle.data(), memory.layout, kFill), "");
  const Buffer output = memory.layout.outputs[0];
  EXPECT_TRUE(filled_words(kFill, FillKind::kFloats, output.offset / 4, output.bytes / 4,
                           reinterpret_cast<uint32_t*>(memory.oracle.data() + output.offset)));
  const Buffer own = laid.outputs[0];
  for (const int64_t at : {own.offset - 1, own.offset + own.bytes, laid.gaps[0] + kGapBytes}) {
    prepare();
    arena[size_t(at)] ^= 1;
    EXPECT_EQ(collect_case(mine, memory.oracle.data(), memory.layout, kFill), "guard") << at;
  }
  prepare();
  arena[size_t(laid.inputs[0].offset)] ^= 1;
  EXPECT_EQ(collect_case(mine, memory.oracle.data(), memory.layout, kFill), "input_mutation");
}

TEST(Case, SeesAChangedInput) {
  Memory memory;
  for (const Buffer& input : memory.layout.inputs) {
    prepare_case(memory.mine(), memory.oracle.data(), memory.layout, kFill);
    memory.arena[size_t(input.offset + input.bytes - 1)] ^= 1;
    EXPECT_EQ(collect_case(memory.mine(), memory.oracle.data(), memory.layout, kFill), "input_mutation");
  }
}

TEST(TaskJson, KeepsEverything) {
  Task task = two_by_one();
  task.reference = "def reference(x):\n  return x\n";
  task.inputs[1].distribution = Distribution::kIndex;
  task.inputs[1].index_bound = "n";
  task.magnitudes = {1, 1e-3};
  task.check_shapes = {{{"n", 1}, {"m", 2}}};
  EXPECT_EQ(tasks_to_json(tasks_from_json(tasks_to_json({task}))), tasks_to_json({task}));
}

}  // namespace
}  // namespace temper::env
