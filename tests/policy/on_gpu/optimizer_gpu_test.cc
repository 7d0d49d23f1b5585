// CUDA adamw, squared_norm and fill_normal against their formulas in double precision.

#include <cmath>

#include "base/rng.h"
#include "tests/policy/on_gpu/gpu_test.h"

namespace temper::policy {
namespace {

using GpuOptimizer = GpuOps;

const int64_t kSizes[] = {1, 3, 1000, 4097, 100003};
constexpr cuda::AdamWFactors kFactors = {.gradient_scale = 0.5,
                                         .keep = 0.999,
                                         .beta1 = 0.9,
                                         .rest1 = 0.1,
                                         .beta2 = 0.99,
                                         .rest2 = 0.01,
                                         .step = 0.01,
                                         .root_correction = 2,
                                         .epsilon = 1e-8};

struct State {
  at::Tensor master, weights, gradients, moment1, moment2;
};

// `shift` elements behind the beginning of each buffer.
State adamw(DType dtype, const State& s, int64_t shift) {
  const int64_t size = s.master.numel();
  const auto shifted = [&](const at::Tensor& x) {
    return at::cat({at::full({shift}, -7, x.scalar_type()), x});
  };
  const DeviceArray master(shifted(s.master)), weights(shifted(s.weights)), gradients(shifted(s.gradients)),
      moment1(shifted(s.moment1)), moment2(shifted(s.moment2));
  cuda::adamw(dtype, master.f32() + shift,
              static_cast<char*>(weights.data()) + shift * s.weights.element_size(), gradients.f32() + shift,
              moment1.f32() + shift, moment2.f32() + shift, size, kFactors, nullptr);
  const auto back = [&](const DeviceArray& b) { return b.host().narrow(0, shift, size).contiguous(); };
  return {back(master), back(weights), back(gradients), back(moment1), back(moment2)};
}

TEST_P(GpuOptimizer, AdamWEqualsItsFormula) {
  const auto f = [](float x) { return double(x); };
  for (const int64_t size : kSizes) {
    const State s = {at::randn({size}), at::zeros({size}, type()), at::randn({size}) * 3, at::randn({size}),
                     at::rand({size})};
    const at::Tensor g = doubles(s.gradients) * f(kFactors.gradient_scale);
    const at::Tensor m1 = doubles(s.moment1) * f(kFactors.beta1) + g * f(kFactors.rest1);
    const at::Tensor m2 = doubles(s.moment2) * f(kFactors.beta2) + g * g * f(kFactors.rest2);
    const at::Tensor moved =
        f(kFactors.step) * m1 / (m2.sqrt() * f(kFactors.root_correction) + f(kFactors.epsilon));
    const at::Tensor w = doubles(s.master) * f(kFactors.keep) - moved;
    const State a = adamw(GetParam(), s, 0);
    const std::string what = std::to_string(size);
    expect_close(a.moment1, m1, doubles(s.moment1).abs() + g.abs(), 8, "moment1 " + what);
    expect_close(a.moment2, m2, m2, 8, "moment2 " + what);
    expect_close(a.master, w, doubles(s.master).abs() + moved.abs() * 200 + f(kFactors.step), 8,
                 "master " + what);
    EXPECT_TRUE(same_bits(a.weights, a.master.to(type()))) << size;
    EXPECT_TRUE(same_bits(a.gradients, at::zeros({size}))) << size;
    const State shifted = adamw(GetParam(), s, 1);
    EXPECT_TRUE(same_bits(shifted.master, a.master) && same_bits(shifted.weights, a.weights) &&
                same_bits(shifted.moment1, a.moment1) && same_bits(shifted.moment2, a.moment2) &&
                same_bits(shifted.gradients, a.gradients))
        << size;
  }
}

double squared_norm(const at::Tensor& x, int64_t shift) {
  const DeviceArray gx(at::cat({at::full({shift}, 1e9), x})),
      scratch(at::zeros({cuda::kSumBlocks}, at::kDouble)), sum(at::zeros({1}, at::kDouble));
  cuda::squared_norm(gx.f32() + shift, x.numel(), static_cast<double*>(scratch.data()),
                     static_cast<double*>(sum.data()), nullptr);
  return sum.host()[0].item<double>();
}

TEST_P(GpuOptimizer, SquaredNormDependsOnTheSizeAlone) {
  for (const int64_t size : {0, 1, 3, 1000, 4097, 10000019}) {
    const at::Tensor x = at::randn({size});
    const double expected = doubles(x).square().sum().item<double>();
    EXPECT_NEAR(squared_norm(x, 0), expected, 1e-12 * expected) << size;
    EXPECT_EQ(squared_norm(x, 0), squared_norm(x, 1)) << size;
  }
}

TEST_P(GpuOptimizer, NormalNumbersAreThoseOfTheHost) {
  for (const int64_t size : kSizes) {
    const DeviceArray values(at::zeros({size}, type()));
    cuda::fill_normal(GetParam(), values.data(), size, 0x123456789abcdef, 0.02, nullptr);
    const at::Tensor expected = doubles(at::empty({size}));
    Rng rng(0x123456789abcdef);
    for (int64_t i = 0; i < size; ++i) data(expected)[i] = 0.02 * rng.normal();
    expect_close(values.host(), expected, expected, 2, std::to_string(size));
  }
}

TEMPER_BOTH_TYPES(GpuOptimizer);

}  // namespace
}  // namespace temper::policy
