#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/rng.h"
#include "env/call/draw_turns.h"
#include "tests/env/call/family_task.h"

namespace temper::env {
namespace {

constexpr uint32_t kDrawElements = 40 * 64;

const TensorSpec& normal_input() {
  static const Task task = family_task("{x: {shape: [n, m], nonfinite: true}}");
  return task.inputs[0];
}

// Plain values that tell what became of them.
float plain_at(uint32_t i) { return (i % 2 == 0 ? 1.0f : -1.0f) * (0.5f + float(i) * 1e-4f); }

std::vector<float> drawn(const DrawForm& form) {
  std::vector<float> values(form.elements);
  for (uint32_t i = 0; i < form.elements; ++i) values[i] = drawn_float(form, i, plain_at(i));
  return values;
}

DrawForm form_of(const TensorSpec& input, DrawKind kind, uint64_t key, double far = 1, double magnitude = 1) {
  return draw_form(input, kDrawShape, magnitude, kind, far, key, 1);
}

// How many elements are not their plain values.
int64_t changed(const DrawForm& form) {
  const auto values = drawn(form);
  int64_t count = 0;
  for (uint32_t i = 0; i < form.elements; ++i) count += values[i] != plain_at(i);
  return count;
}

TEST(DrawFamily, SpikesAreFewAndTheirSizesSpreadOverDecades) {
  std::set<int> decades;
  int together = 0;
  for (uint64_t key = 0; key < 300; ++key) {
    const DrawForm form = form_of(normal_input(), DrawKind::kSpikes, key, 1, 3);
    const auto values = drawn(form);
    std::set<uint32_t> rows;
    for (uint32_t i = 0; i < form.elements; ++i) {
      if (values[i] == plain_at(i)) continue;
      const double size = std::abs(values[i]) / 3.0;
      EXPECT_TRUE(size > 7.9 && size < 1.01e4) << size;
      decades.insert(int(std::log10(size)));
      rows.insert(i / form.columns);
    }
    EXPECT_TRUE(changed(form) >= 1 && changed(form) <= 8) << changed(form);
    together += rows.size() == 1 && changed(form) > 2;
  }
  EXPECT_EQ(decades, (std::set<int>{0, 1, 2, 3}));
  EXPECT_GT(together, 50);
}

TEST(DrawFamily, FarIsHowFar) {
  double most = 0, offset = 0;
  for (uint64_t key = 0; key < 100; ++key) {
    const DrawForm form = form_of(normal_input(), DrawKind::kSpikes, key, 0x1p-6);
    for (uint32_t i = 0; i < form.spikes; ++i) most = std::max(most, std::abs(double(form.spike[i])));
    offset = std::max(offset, std::abs(double(form_of(normal_input(), DrawKind::kRise, key, 0x1p-6).offset)));
  }
  EXPECT_TRUE(most > 100 && most < 157) << most;
  EXPECT_TRUE(offset > 10 && offset < 16.1) << offset;
}

// A maximum that begins at a low number is right on all that rises, and on rows that rise beside others that fall.
TEST(DrawFamily, OffsetsAreOfTheTensorUpwardsAndDownwardsOrOfEachRow) {
  for (uint64_t key = 0; key < 20; ++key) {
    const auto offsets = [key](DrawKind kind) {
      const DrawForm form = form_of(normal_input(), kind, key);
      std::set<float> found;
      for (uint32_t row = 0; row < 40; ++row) {
        found.insert(offset_at(form, row * 64));
        EXPECT_EQ(offset_at(form, row * 64), offset_at(form, row * 64 + 63));
        EXPECT_GE(std::abs(offset_at(form, row * 64)), std::abs(form.offset) / 8);
      }
      return found;
    };
    const auto up = offsets(DrawKind::kRise), down = offsets(DrawKind::kFall),
               rows = offsets(DrawKind::kRowOffsets);
    EXPECT_TRUE(up.size() == 1 && *up.begin() > 7) << *up.begin();
    EXPECT_TRUE(down.size() == 1 && *down.begin() < -7) << *down.begin();
    EXPECT_TRUE(rows.size() > 4 && *rows.begin() == -*rows.rbegin());
  }
}

TEST(DrawFamily, RowsHaveTheWholeOffsetUpwardsAndDownwards) {
  const TensorSpec& input = normal_input();
  std::set<uint32_t> places;
  for (uint64_t key = 0; key < 200; ++key) {
    const DrawForm form = draw_form(input, {{"n", 3}, {"m", 33}}, 1, DrawKind::kRowOffsets, 1, key, 33);
    std::set<float> offsets;
    for (uint32_t row = 0; row < 3; ++row) offsets.insert(offset_at(form, row * 33));
    EXPECT_EQ(*offsets.rbegin(), std::abs(form.offset));
    EXPECT_EQ(*offsets.begin(), -std::abs(form.offset));
    places.insert(form.row);
  }
  EXPECT_EQ(places.size(), 3u);
}

TEST(DrawFamily, RunsLieAtHeadsTailsAndInChunks) {
  int heads = 0, tails = 0;  // by chance about seven each
  bool every_row = false, one_row = false, chunk = false;
  for (uint64_t key = 0; key < 200; ++key) {
    const DrawForm form = form_of(normal_input(), DrawKind::kRun, key);
    ASSERT_LE(form.begin + form.length, form.columns);
    const int64_t rows = changed(form) / form.length;
    EXPECT_EQ(changed(form) % form.length, 0);
    heads += form.begin == 0 && form.length > 1;
    tails += form.begin + form.length == form.columns && form.length > 1;
    chunk |= form.begin % 8 == 0 && form.length > 3 && form.length <= 8;
    every_row |= rows == 40;
    one_row |= rows == 1;
  }
  EXPECT_TRUE(heads > 25 && tails > 25) << heads << " " << tails;
  EXPECT_TRUE(every_row && one_row && chunk);
}

TEST(DrawFamily, ZerosAreOfEitherSignAndDenormalsAreDenormal) {
  const auto zeros = drawn(form_of(normal_input(), DrawKind::kZeros, 5));
  const auto denormals = drawn(form_of(normal_input(), DrawKind::kDenormals, 5));
  const auto count = [](const auto& values, auto is) {
    return std::count_if(values.begin(), values.end(), is);
  };
  const auto negative_zero = [](float v) { return v == 0 && std::signbit(v); };
  const auto positive_zero = [](float v) { return v == 0 && !std::signbit(v); };
  EXPECT_GT(count(zeros, negative_zero), 50);
  EXPECT_GT(count(zeros, positive_zero), 50);
  EXPECT_LT(count(zeros, [](float v) { return v == 0; }), kDrawElements);
  EXPECT_EQ(count(zeros, [](float v) { return std::fpclassify(v) == FP_SUBNORMAL; }), 0);
  EXPECT_GT(count(denormals, [](float v) { return std::fpclassify(v) == FP_SUBNORMAL; }), 100);
}

TEST(DrawFamily, RowsAndColumnsHavePowersOfTwoOfTheirOwn) {
  for (const DrawKind kind : {DrawKind::kRowScales, DrawKind::kColumnScales}) {
    const DrawForm form = form_of(normal_input(), kind, 3);
    const auto values = drawn(form);
    std::map<uint32_t, std::set<float>> ratios;
    std::set<float> all;
    for (uint32_t i = 0; i < form.elements; ++i) {
      const float ratio = values[i] / plain_at(i);
      ratios[kind == DrawKind::kRowScales ? i / form.columns : i % form.columns].insert(ratio);
      all.insert(ratio);
    }
    for (const auto& [line, set] : ratios) EXPECT_EQ(set.size(), 1u) << line;
    EXPECT_GT(all.size(), 8u);
    EXPECT_TRUE(*all.begin() >= 0x1p-6f && *all.rbegin() <= 0x1p6f);
  }
}

TEST(DrawFamily, SomeRowsAreLargeSmallZeroOrInfinite) {
  const auto rows_where = [](DrawKind kind, uint64_t key, auto is) {
    std::set<uint32_t> rows;
    const DrawForm form = form_of(normal_input(), kind, key);
    const auto values = drawn(form);
    for (uint32_t i = 0; i < form.elements; ++i)
      if (is(values[i], plain_at(i))) rows.insert(i / form.columns);
    return rows.size();
  };
  std::set<size_t> counts;
  for (uint64_t key = 0; key < 30; ++key) {
    const size_t large =
        rows_where(DrawKind::kLargeRow, key, [](float v, float p) { return std::abs(v) > 7 * std::abs(p); });
    EXPECT_EQ(large, rows_where(DrawKind::kLargeRow, key, [](float v, float p) { return v != p; }));
    counts.insert(large);
    EXPECT_GE(
        rows_where(DrawKind::kSmallRow, key, [](float v, float p) { return std::abs(v) < std::abs(p) / 3; }),
        1u);
    EXPECT_GE(rows_where(DrawKind::kZeroRow, key, [](float v, float) { return v == 0; }), 1u);
    EXPECT_GE(rows_where(DrawKind::kInfiniteRow, key, [](float v, float) { return std::isinf(v); }), 1u);
  }
  EXPECT_TRUE(counts.contains(1) && counts.size() > 1);
}

TEST(DrawFamily, UniformsCrowdAtTheEndsAndStayInTheRange) {
  const Task task = family_task("{x: {shape: [n, m], uniform: [1, 3]}}");
  const auto share_near = [&](DrawKind kind, double end) {
    const DrawForm form = form_of(task.inputs[0], kind, 3);
    double near = 0;
    for (uint32_t i = 0; i < kDrawElements; ++i) {
      const float value = drawn_float(form, i, 1 + 2 * (float(i) + 0.5f) / kDrawElements);
      EXPECT_TRUE(value >= 1 && value <= 3) << value;
      near += std::abs(value - end) < 0.05;
    }
    return near / kDrawElements;
  };
  EXPECT_GT(share_near(DrawKind::kLowEnd, 1), 0.4);
  EXPECT_GT(share_near(DrawKind::kHighEnd, 3), 0.4);
  EXPECT_GT(share_near(DrawKind::kBothEnds, 1), 0.2);
  EXPECT_GT(share_near(DrawKind::kBothEnds, 3), 0.2);
}

TEST(DrawFamily, UniformsReachTheEndsAtTheOutermostAlone) {
  const Task task = family_task("{x: {shape: [n, m], uniform: [1, 3]}}");
  const auto share_at = [&](DrawKind kind, float end, double far) {
    const DrawForm form = form_of(task.inputs[0], kind, 3, far);
    double there = 0;
    for (uint32_t i = 0; i < kDrawElements; ++i)
      there += drawn_float(form, i, 1 + 2 * (float(i) + 0.5f) / kDrawElements) == end;
    return there / kDrawElements;
  };
  EXPECT_NEAR(share_at(DrawKind::kLowEnd, 1, 1), 1 / 8.0, 0.03);
  EXPECT_NEAR(share_at(DrawKind::kHighEnd, 3, 1), 1 / 8.0, 0.03);
  EXPECT_NEAR(share_at(DrawKind::kBothEnds, 1, 1), 1 / 16.0, 0.03);
  for (const DrawKind kind : {DrawKind::kLowEnd, DrawKind::kBothEnds}) EXPECT_EQ(share_at(kind, 1, 0.5), 0);
}

TEST(DrawFamily, SomeRangesOfDistinctElementsAreSoFarFromZeroThatLastBitsTellThemApart) {
  const Task task = family_task("{x: {shape: [n, m], distinct: [-1, 1]}}");
  const auto finest = [&](double far) {
    double least = 1;
    for (uint64_t key = 0; key < 60; ++key) {
      const DrawForm form = form_of(task.inputs[0], DrawKind::kPlain, key, far);
      const double end = std::max(std::abs(form.low), std::abs(form.low + form.width));
      least = std::min(least, form.width / end / kDrawElements);
    }
    return least;
  };
  EXPECT_LT(finest(1), 0x1p-20);
  EXPECT_GT(finest(0.25), 0x1p-15);
}

TEST(DrawFamily, DistinctElementsHaveACellEachAndAnotherRangeEachTime) {
  const Task task = family_task("{x: {shape: [n, m], distinct: [-1, 1]}}");
  std::set<float> lows;
  for (const DrawKind kind : draw_kinds(task, 0, kDrawShape)) {
    for (uint64_t key = 0; key < 20; ++key) {
      const DrawForm form = form_of(task.inputs[0], kind, key);
      std::set<uint64_t> places;
      std::map<uint64_t, uint64_t> counts;
      for (uint32_t i = 0; i < kDrawElements; ++i) {
        const DrawCell cell = drawn_cell(form, i);
        EXPECT_LT(cell.place, cell.count);
        EXPECT_LE(cell.first + cell.count, kDrawElements);
        EXPECT_TRUE(places.insert(cell.first + cell.place).second);
        EXPECT_EQ(counts.emplace(cell.first, cell.count).first->second, cell.count);
      }
      lows.insert(form.low);
      for (uint64_t cell = 1; cell < kDrawElements; ++cell)
        ASSERT_LT(cell_value(form, cell - 1, 0.999), cell_value(form, cell, 0.001))
            << form.low << " " << form.width;
    }
  }
  EXPECT_GT(lows.size(), 60u);
}

TEST(DrawFamily, DistinctElementsStayDistinctAtTheirLargestNumber) {
  TensorSpec spec = family_task("{x: {shape: [n, m], distinct: [-1, 1]}}").inputs[0];
  for (uint64_t key = 0; key < 10; ++key) {
    const DrawForm form = draw_form(spec, {{"n", 2048}, {"m", 2048}}, 1, DrawKind::kPlain, 1, key, 1);
    for (const uint64_t cell : {uint64_t(1), uint64_t(1) << 21, (uint64_t(1) << 22) - 1})
      EXPECT_LT(cell_value(form, cell - 1, 0.999), cell_value(form, cell, 0.001))
          << form.low << " " << form.width;
  }
}

TEST(DrawFamily, ADistinctRangeOfOneSignKeepsIt) {
  const Task task = family_task("{x: {shape: [n, m], distinct: [0.5, 1]}}");
  for (uint64_t key = 0; key < 20; ++key) EXPECT_GT(form_of(task.inputs[0], DrawKind::kPlain, key).low, 0);
  const DrawForm told = form_of(task.inputs[0], DrawKind::kPlain, 1, 0);
  EXPECT_TRUE(told.low == 0.5f && told.width == 0.5f);
}

TEST(DrawFamily, TheLargestOfEachRowAreOneRunOfIt) {
  const Task task = family_task("{x: {shape: [n, m], distinct: [-1, 1]}}");
  bool in_one_chunk = false;
  for (uint64_t key = 0; key < 40; ++key) {
    const DrawForm form = form_of(task.inputs[0], DrawKind::kLargestTogether, key);
    for (uint32_t i = 0; i < kDrawElements; ++i) {
      const bool inside = i % 64 - form.begin < form.length;
      EXPECT_EQ(drawn_cell(form, i).first, inside ? kDrawElements - 40 * form.length : 0);
    }
    in_one_chunk |= form.length > 3 && form.begin / 8 == (form.begin + form.length - 1) / 8;
  }
  EXPECT_TRUE(in_one_chunk);
}

TEST(DrawFamily, IndicesStayInTheirRangeAndTakeTheirForms) {
  const Task task = family_task("{x: [n, m], i: {shape: [n, m], type: i32, below: 37}}");
  std::map<DrawKind, std::vector<int32_t>> draws;
  for (const DrawKind kind : draw_kinds(task, 1, kDrawShape)) {
    const DrawForm form = form_of(task.inputs[1], kind, 11);
    for (uint32_t i = 0; i < kDrawElements; ++i)
      draws[kind].push_back(drawn_index(form, i, uint32_t(scattered(5, i))));
    const auto [least, most] = std::minmax_element(draws[kind].begin(), draws[kind].end());
    EXPECT_TRUE(*least >= 0 && *most < 37) << int(kind);
  }
  const auto distinct = [&](DrawKind kind) {
    return std::set<int32_t>(draws[kind].begin(), draws[kind].end()).size();
  };
  const auto most_often = [&](DrawKind kind) {
    std::map<int32_t, int64_t> counts;
    for (const int32_t index : draws[kind]) ++counts[index];
    int64_t most = 0;
    for (const auto& [index, count] : counts) most = std::max(most, count);
    return double(most) / kDrawElements;
  };
  EXPECT_EQ(distinct(DrawKind::kPlain), 37u);
  EXPECT_EQ(distinct(DrawKind::kEqual), 1u);
  EXPECT_TRUE(std::ranges::is_sorted(draws[DrawKind::kSorted]) && distinct(DrawKind::kSorted) == 37);
  EXPECT_TRUE(std::ranges::is_sorted(draws[DrawKind::kReversed], std::greater()) &&
              distinct(DrawKind::kReversed) == 37);
  EXPECT_EQ(std::set<int32_t>(draws[DrawKind::kFirstAndLast].begin(), draws[DrawKind::kFirstAndLast].end()),
            (std::set<int32_t>{0, 36}));
  EXPECT_EQ(std::set<int32_t>(draws[DrawKind::kStride].begin(), draws[DrawKind::kStride].begin() + 37).size(),
            37u);
  EXPECT_GT(most_often(DrawKind::kCrowded), 0.5);
  EXPECT_LT(most_often(DrawKind::kCrowded), 0.97);
  EXPECT_GT(most_often(DrawKind::kZipf), 0.15);
  EXPECT_GT(distinct(DrawKind::kZipf), 20u);
}

// A few spikes may all lie in even columns by chance, so that a maximum over those is right.
TEST(DrawFamily, EachRowHasASpikeSomewhere) {
  for (uint64_t key = 0; key < 50; ++key) {
    const DrawForm form = form_of(normal_input(), DrawKind::kRowSpikes, key);
    std::set<uint32_t> columns;
    int up = 0, down = 0;
    for (uint32_t i = 0; i < kDrawElements; ++i) {
      const float value = drawn_float(form, i, plain_at(i));
      if (value == plain_at(i)) continue;
      columns.insert(i % 64);
      up += value > 7, down += value < -7;
    }
    EXPECT_EQ(up + down, 40);
    EXPECT_TRUE(up > 5 && down > 5 && columns.size() > 20)
        << up << " up, in " << columns.size() << " columns";
  }
}

// A maximum over what is positive is right beside negative spikes alone.
TEST(DrawFamily, SpikesAreOfBothSigns) {
  for (uint64_t key = 0; key < 200; ++key) {
    const DrawForm form = form_of(normal_input(), DrawKind::kSpikes, key);
    const auto [low, high] = std::minmax_element(form.spike, form.spike + form.spikes);
    EXPECT_TRUE(*low < 0 && *high > 0) << key;
  }
}

}  // namespace
}  // namespace temper::env
