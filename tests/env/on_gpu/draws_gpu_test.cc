// What it costs to draw and to fill, by kind: each kind of draw may cost a verdict no more than 1 ms.

#include <gtest/gtest.h>

#include "base/error.h"
#include "env/gpu/case.h"
#include "env/gpu/device/toolbox.h"

namespace temper::env {
namespace {

constexpr uint32_t kElements = 1 << 23, kColumns = 2048;
constexpr int kCalls = 20;

class GpuDraws : public testing::Test {
 protected:
  void SetUp() override {
    try {
      facts_ = enter_gpu(0);
    } catch (const WorldError& error) {
      GTEST_SKIP() << error.what();
    }
    tools_ = std::make_unique<GpuToolbox>(facts_, nullptr);
    for (CUevent* event : {&begin_, &end_}) TEMPER_GPU(cuEventCreate, event, CU_EVENT_DEFAULT);
    TEMPER_GPU(cuMemAlloc, &data_, 4 * size_t(kElements));
    TEMPER_GPU(cuMemAlloc, &changed_, 4);
    TEMPER_GPU(cuMemsetD8Async, changed_, 0, 4, nullptr);
  }

  // Microseconds of one of some.
  template <class Work>
  double time(const Work& work) {
    work();
    TEMPER_GPU(cuEventRecord, begin_, nullptr);
    for (int i = 0; i < kCalls; ++i) work();
    TEMPER_GPU(cuEventRecord, end_, nullptr);
    TEMPER_GPU(cuEventSynchronize, end_);
    float milliseconds = 0;
    TEMPER_GPU(cuEventElapsedTime, &milliseconds, begin_, end_);
    return 1e3 * double(milliseconds) / kCalls;
  }

  Draws draws(Distribution distribution, DrawKind kind, ElementType type = ElementType::kF32) const {
    Draws draws;
    draws.count = 1;
    draws.at[0] = data_;
    DrawSpec& spec = draws.spec[0];
    spec.key = 5, spec.elements = kElements, spec.type = type, spec.distribution = distribution;
    DrawForm& form = spec.form;
    form = {
        .kind = kind, .elements = kElements, .columns = kColumns, .row_period = 3, .begin = 5, .length = 9};
    form.share = 1u << 31, form.power = 6, form.bound = 5000, form.stride = 7, form.key = 11;
    form.factor = 100, form.offset = 30, form.spikes = kFormSpikes;
    return draws;
  }

  // Draws one kind, prints what it costs, and finds it again.
  double cost(Distribution distribution, DrawKind kind, ElementType type = ElementType::kF32) {
    const Draws all = draws(distribution, kind, type);
    const double drawn_us = time([&] { tools_->draw(all); }),
                 checked_us = time([&] { tools_->check_draws(all, changed_); });
    uint32_t changed = 1;
    TEMPER_GPU(cuMemcpyDtoH, &changed, changed_, sizeof changed);
    EXPECT_EQ(changed, 0) << int(kind);
    std::printf("   distribution %d, kind %2d, type %d: drawn in %6.1f us, found again in %6.1f\n",
                int(distribution), int(kind), int(type), drawn_us, checked_us);
    return drawn_us + checked_us;
  }

  GpuFacts facts_;
  std::unique_ptr<GpuToolbox> tools_;
  CUevent begin_ = nullptr, end_ = nullptr;
  CUdeviceptr data_ = 0, changed_ = 0;
};

TEST_F(GpuDraws, EachKindIsFoundAgain) {
  using enum Distribution;
  const auto from_to = [&](Distribution distribution, DrawKind from, DrawKind to) {
    cost(distribution, DrawKind::kPlain);
    for (auto kind = uint32_t(from); kind <= uint32_t(to); ++kind) cost(distribution, DrawKind(kind));
  };
  from_to(kNormal, DrawKind::kSpikes, DrawKind::kDenormals);
  from_to(kUniform, DrawKind::kLowEnd, DrawKind::kBothEnds);
  from_to(kIndex, DrawKind::kEqual, DrawKind::kCrowded);
  from_to(kDistinct, DrawKind::kAscending, DrawKind::kLargestTogether);
  cost(kNormal, DrawKind::kPlain, ElementType::kBF16);
  cost(kNormal, DrawKind::kRowScales, ElementType::kBF16);
}

TEST_F(GpuDraws, WhatIsFilledIsFoundAgain) {
  CallLayout layout;
  layout.outputs = {{0, 4 * int64_t(kElements)}};
  const double memset_us =
      time([&] { TEMPER_GPU(cuMemsetD8Async, data_, 0xFF, 4 * size_t(kElements), nullptr); });
  std::printf("   memset of 32 MiB: %.1f us\n", memset_us);
  for (const ElementType type :
       {ElementType::kF32, ElementType::kI32, ElementType::kBF16, ElementType::kF16}) {
    const Zones zones = filled_zones(layout, {{}, {type}}, {.key = 3, .call = 4}, data_);
    const double filled_us = time([&] { tools_->fill_zones(zones); });
    tools_->check_zones(zones, changed_);
    uint32_t changed = 1;
    TEMPER_GPU(cuMemcpyDtoH, &changed, changed_, sizeof changed);
    EXPECT_EQ(changed, 0) << int(type);
    std::printf("   filled as type %d: %.1f us\n", int(type), filled_us);
  }
}

}  // namespace
}  // namespace temper::env
