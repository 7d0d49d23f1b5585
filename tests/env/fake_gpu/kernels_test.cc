// The judge's own kernels one by one, on the CPU.

#include "tests/env/fake_gpu/device.h"

// Behind the device language, for its macros.
#include "env/gpu/device/kernels.cu"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include "env/gpu/case.h"

namespace temper::env {
namespace {

constexpr float kInf_ = std::numeric_limits<float>::infinity(),
                kNaN = std::numeric_limits<float>::quiet_NaN();

template <auto kKernel, class... Arguments>
void launch(Arguments... arguments) {
  void* addresses[] = {&arguments...};
  fake::grid_dim = {2, 1, 1};
  fake::block_dim = {8, 1, 1};
  fake::Kernel<kKernel>::call(addresses);
}

// Elements that are out of their bound, `got` in f32 and what is right in f32 or f64.
template <class Real>
uint64_t wrong(CompareSpec spec, std::vector<float> got, std::vector<Real> right) {
  CompareResult result;
  spec.elements = int64_t(got.size());
  spec.narrow = sizeof(Real) == sizeof(float);
  launch<&temper_compare>(spec, static_cast<const void*>(got.data()), static_cast<const void*>(right.data()),
                          &result);
  return result.wrong;
}

TEST(GpuKernels, BoundsAreSharp) {
  const CompareSpec spec{.relative = 1e-3, .scale = 2};  // of 1: 0.003
  EXPECT_EQ(wrong<float>(spec, {1.00299f, 0.99701f, 1}, {1, 1, 1}), 0);
  EXPECT_EQ(wrong<float>(spec, {1.00301f, 0.99699f, 1}, {1, 1, 1}), 2);
  EXPECT_EQ(wrong<double>(spec, {1.00299f, 0.99701f, 1}, {1, 1, 1}), 0);
  EXPECT_EQ(wrong<double>(spec, {1.00301f, 0.99699f, 1}, {1, 1, 1}), 2);
}

// In whole groups and what is left, and where groups are not aligned.
template <class Got, class Right>
void expect_each_wrong_one_is_named(ElementType type) {
  alignas(16) Got got[20] = {};
  alignas(16) Right right[20] = {};
  for (int shift = 0; shift < 2; ++shift) {
    for (int i = 0; i < 19; ++i) {
      CompareSpec spec{.elements = 19, .type = type, .relative = 1e-3, .scale = 1};
      spec.narrow = sizeof(Right) != sizeof(double);
      CompareResult result;
      got[shift + i] = Got(1.0f);
      launch<&temper_compare>(spec, static_cast<const void*>(got + shift),
                              static_cast<const void*>(right + shift), &result);
      got[shift + i] = Got(0.0f);
      EXPECT_EQ(result.wrong, 1) << i;
      EXPECT_EQ(~uint32_t(result.worst), uint32_t(i));
    }
  }
}

TEST(GpuKernels, EveryElementIsCompared) {
  expect_each_wrong_one_is_named<float, float>(ElementType::kF32);
  expect_each_wrong_one_is_named<float, double>(ElementType::kF32);
  expect_each_wrong_one_is_named<__nv_bfloat16, __nv_bfloat16>(ElementType::kBF16);
  expect_each_wrong_one_is_named<__half, double>(ElementType::kF16);
}

TEST(GpuKernels, WhatIsNotFiniteIsTheSame) {
  CompareSpec spec{.relative = 1e-3, .scale = 2};
  const std::vector<float> right{kNaN, kInf_, -kInf_};
  EXPECT_EQ(wrong<float>(spec, right, right), 0);
  EXPECT_EQ(wrong<float>(spec, {0, 1e38f, kNaN}, right), 3);
  EXPECT_EQ(wrong<float>(spec, {kNaN, kInf_, -kInf_}, {0, 0, 0}), 3);
  EXPECT_EQ(wrong<double>(spec, {kInf_, 3e38f}, {1e39, 1e39}), 1);  // f32 overflows
  spec.all_finite = 1;
  EXPECT_EQ(wrong<float>(spec, right, right), 3);
}

TEST(GpuKernels, WhatOverflowsItsTypeIsNotFinite) {
  CompareSpec spec{.elements = 1, .type = ElementType::kF16, .relative = 0.1};
  for (const auto& [got, outside] : {std::pair{__float2half(kInf_), 0}, std::pair{__float2half(65504), 1}}) {
    CompareResult result;
    const double right = 70'000;
    launch<&temper_compare>(spec, static_cast<const void*>(&got), static_cast<const void*>(&right), &result);
    EXPECT_EQ(result.wrong, outside);
  }
}

Draws draw_of(int64_t elements, ElementType type, void* at) {
  Draws draws;
  draws.count = 1;
  draws.spec[0] = {.key = 7, .elements = elements, .type = type, .form = {.elements = uint32_t(elements)}};
  draws.at[0] = reinterpret_cast<uint64_t>(at);
  return draws;
}

TEST(GpuKernels, EveryChangedElementOfADrawIsSeen) {
  constexpr int64_t kElements = 4 * 40 + 3;
  const auto changed = [](const Draws& draws) {
    uint32_t seen = 0;
    launch<&temper_check_draws>(draws, &seen);
    return seen;
  };
  for (const ElementType type : {ElementType::kF32, ElementType::kBF16}) {
    const size_t bytes = type == ElementType::kF32 ? 4 : 2;
    alignas(16) uint8_t data[4 * kElements + 1] = {};
    const Draws draws = draw_of(kElements, type, data);
    launch<&temper_draw>(draws);
    EXPECT_EQ(data[bytes * kElements], 0);
    EXPECT_EQ(changed(draws), 0);
    for (size_t i = 0; i < bytes * kElements; i += bytes) {
      data[i] ^= 1;
      EXPECT_EQ(changed(draws), 1) << i;
      data[i] ^= 1;
    }
  }
}

TEST(GpuKernels, DrawsAreNormal) {
  constexpr int64_t kElements = 1 << 16;
  std::vector<float> data(kElements);
  launch<&temper_draw>(draw_of(kElements, ElementType::kF32, data.data()));
  double sum = 0, squares = 0, products = 0, largest = 0;
  for (size_t i = 0; i < data.size(); ++i) {
    sum += data[i];
    squares += data[i] * data[i];
    products += data[i] * data[(i + 1) % data.size()];
    largest = std::max(largest, std::abs(double(data[i])));
  }
  EXPECT_NEAR(sum / kElements, 0, 0.02);
  EXPECT_NEAR(squares / kElements, 1, 0.03);
  EXPECT_NEAR(products / kElements, 0, 0.02);
  EXPECT_GT(largest, 3.5);
  EXPECT_LT(largest, 6);
}

TEST(GpuKernels, DigestsDependOnEveryByteAndCopyAll) {
  constexpr int64_t kBytes = 16 * 40 + 11;
  alignas(16) uint8_t data[kBytes], copy[kBytes + 1] = {};
  for (int64_t i = 0; i < kBytes; ++i) data[i] = uint8_t(31 * i + 1);
  const auto digest = [&](uint64_t key, void* to) {
    unsigned long long sum = 0;
    launch<&temper_digest>(key, static_cast<const void*>(data), to, kBytes, &sum);
    return sum;
  };
  const uint64_t whole = digest(5, copy);
  EXPECT_EQ(std::memcmp(data, copy, kBytes), 0);
  EXPECT_EQ(copy[kBytes], 0);
  EXPECT_EQ(digest(5, nullptr), whole);
  EXPECT_NE(digest(6, nullptr), whole);
  for (uint8_t& byte : data) {
    ++byte;
    EXPECT_NE(digest(5, nullptr), whole);
    --byte;
  }
  std::swap(data[0], data[8]);
  EXPECT_NE(digest(5, nullptr), whole);
}

// The zone between two bytes of some memory.
Zones zone_of(const uint8_t* begin, const uint8_t* end, FillType front, FillType back) {
  Zones zones;
  zones.count = 1;
  zones.begin[0] = reinterpret_cast<uint64_t>(begin);
  zones.end[0] = reinterpret_cast<uint64_t>(end);
  zones.key[0] = 7;
  zones.front[0] = front;
  zones.back[0] = back;
  return zones;
}

TEST(GpuKernels, ZonesAreWrittenAndWatchedToTheByte) {
  alignas(16) uint8_t data[160] = {};
  const Zones zones = zone_of(data + 13, data + 137, FillType::kGuardF32, FillType::kGuardBF16);
  const auto broken = [](const Zones& of) {
    uint32_t seen = 0;
    launch<&temper_check_zones>(of, &seen);
    return seen;
  };
  EXPECT_EQ(broken(zones), 1);
  launch<&temper_fill_zones>(zones);
  EXPECT_EQ(broken(zones), 0);
  Zones next = zones;
  ++next.call;
  EXPECT_EQ(broken(next), 1);
  EXPECT_EQ(data[12], 0);
  EXPECT_EQ(data[137], 0);
  for (int i = 13; i < 137; ++i) {
    data[i] ^= 1;
    EXPECT_EQ(broken(zones), 1) << i;
    data[i] ^= 1;
  }
}

// The classes that an element shows: NaN, zero, large, large and negative.
template <class Read>
std::vector<int> classes_of(FillType type, size_t bytes, const Read& read) {
  constexpr size_t kElements = 512;
  alignas(16) static uint8_t data[4 * kElements];
  std::vector<int> seen(kElements, 0);
  for (uint32_t call = 5; call < 9; ++call) {
    Zones zones = zone_of(data, data + bytes * kElements, type, type);
    zones.call = call;
    launch<&temper_fill_zones>(zones);
    for (size_t i = 0; i < kElements; ++i) {
      const float value = read(data + bytes * i);
      seen[i] |= std::isnan(value) ? 1 : value == 0 ? 2 : value >= 1000 ? 4 : value <= -1000 ? 8 : 16;
    }
  }
  return seen;
}

template <class Element>
float read_float(const uint8_t* data) {
  Element element;
  std::memcpy(&element, data, sizeof element);
  return float(element);
}

TEST(GpuKernels, OverFourCallsEachElementHoldsNanZeroAndLargeNumbers) {
  const auto all = [](const std::vector<int>& seen, int wanted) {
    return std::ranges::all_of(seen, [wanted](int one) { return one == wanted; });
  };
  EXPECT_TRUE(all(classes_of(FillType::kF32, 4, read_float<float>), 15));
  EXPECT_TRUE(all(classes_of(FillType::kBF16, 2, read_float<__nv_bfloat16>), 15));
  EXPECT_TRUE(all(classes_of(FillType::kF16, 2, read_float<__half>), 15));
  EXPECT_TRUE(all(classes_of(FillType::kGuardF32, 4, read_float<float>), 13));
  EXPECT_TRUE(all(classes_of(FillType::kGuardBF16, 2, read_float<__nv_bfloat16>), 13));
  EXPECT_TRUE(all(classes_of(FillType::kGuardF16, 2, read_float<__half>), 13));
}

// What the oracle calls unwritten is what the runner's kernel has written.
TEST(GpuKernels, TheHostKnowsWhatOutputsWereFilledWith) {
  alignas(16) uint8_t data[1024];
  const GpuFill fill{.key = 3, .call = 9};
  for (const auto& [type, bytes] :
       {std::pair{ElementType::kF32, 4}, {ElementType::kI32, 4}, {ElementType::kF16, 2}}) {
    Zones zones = zone_of(data, data + sizeof data, FillType(type), FillType(type));
    zones.key[0] = output_fill_key(fill, 1);
    zones.call = fill.call;
    launch<&temper_fill_zones>(zones);
    const auto known = filled_elements(fill, 1, type, 5, 100);
    ASSERT_EQ(known.size(), 100u);
    for (size_t i = 0; i < known.size(); ++i) {
      uint32_t there = 0;
      std::memcpy(&there, data + size_t(bytes) * (5 + i), size_t(bytes));
      EXPECT_EQ(there, known[i]) << i;
    }
  }
}

// Each kind of draw is what the family says of its plain one, and is found again.
TEST(GpuKernels, DrawsDepartAsTheirFormsSay) {
  constexpr uint32_t kElements = 64 * 9;
  alignas(16) static float plain[kElements], other[kElements];
  DrawForm form{.elements = kElements, .columns = 9, .row_period = 3, .begin = 2, .length = 4};
  form.factor = 100, form.offset = 1000, form.share = 1u << 31, form.power = 3;
  form.spikes = 1, form.place[0] = 77, form.spike[0] = 12345;
  Draws draws = draw_of(kElements, ElementType::kF32, plain);
  launch<&temper_draw>(draws);
  draws.at[0] = reinterpret_cast<uint64_t>(other);
  for (uint32_t kind = uint32_t(DrawKind::kSpikes); kind <= uint32_t(DrawKind::kDenormals); ++kind) {
    form.kind = DrawKind(kind);
    draws.spec[0].form = form;
    launch<&temper_draw>(draws);
    uint32_t changed = 0, different = 0;
    launch<&temper_check_draws>(draws, &changed);
    EXPECT_EQ(changed, 0) << kind;
    for (uint32_t i = 0; i < kElements; ++i) {
      EXPECT_EQ(other[i], drawn_float(form, i, plain[i])) << kind << ": " << i;
      different += other[i] != plain[i];
    }
    EXPECT_GT(different, 0u) << kind;
  }
}

// In each form a permutation of the cells: no two elements are equal.
TEST(GpuKernels, DistinctDrawsStayDistinct) {
  constexpr uint32_t kElements = 100 * 24;
  alignas(16) static float data[kElements];
  for (const DrawKind kind :
       {DrawKind::kPlain, DrawKind::kAscending, DrawKind::kDescending, DrawKind::kLargestTogether}) {
    Draws draws = draw_of(kElements, ElementType::kF32, data);
    draws.spec[0].distribution = Distribution::kDistinct;
    draws.spec[0].form = {.kind = kind, .elements = kElements, .columns = 24, .begin = 8, .length = 5};
    launch<&temper_draw>(draws);
    const std::set<float> values(data, data + kElements);
    EXPECT_EQ(values.size(), kElements) << int(kind);
    EXPECT_EQ(std::is_sorted(data, data + kElements), kind == DrawKind::kAscending);
    if (kind != DrawKind::kLargestTogether) continue;
    const float least_of_run = *std::min_element(data + 8, data + 13);
    for (int i = 0; i < 8; ++i) EXPECT_LT(data[i], least_of_run);
  }
}

}  // namespace
}  // namespace temper::env
