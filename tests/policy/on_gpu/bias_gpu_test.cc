// The backward of a bias on a GPU: sums over rows in one order.

#include "policy/ops/cuda/bias.h"

#include "tests/policy/on_gpu/gpu_test.h"

namespace temper::policy {
namespace {

constexpr int64_t kRows[] = {1, 3, 32, 263, 264, 265, 2500}, kWidths[] = {8, 128, 4608, 6144, 37888};

class GpuBias : public GpuOps {
 protected:
  at::Tensor backward(const at::Tensor& dy, const at::Tensor& start) const {
    const DeviceArray d(dy), blocks(unwritten({cuda::kNormBlocks, dy.size(1)}, at::kFloat)), sum(start);
    cuda::add_bias_backward(GetParam(), d.data(), dy.size(0), dy.size(1), blocks.f32(), true, sum.f32(),
                            nullptr);
    return sum.host();
  }
};

TEST_P(GpuBias, BackwardAddsTheSumsOfColumns) {
  for (const int64_t rows : kRows)
    for (const int64_t width : kWidths) {
      const at::Tensor dy = random({rows, width}), start = at::randn({width});
      const at::Tensor expected = doubles(dy).sum(0) + doubles(start);
      const at::Tensor found = backward(dy, start), size = doubles(dy).abs().sum(0) + doubles(start).abs();
      expect_close(found, expected, size, 64, fmt::format("{} rows of {}", rows, width));
      EXPECT_TRUE(same_bits(found, backward(dy, start))) << rows << " rows of " << width;
    }
}

TEST_P(GpuBias, NullIsNone) {
  const at::Tensor x = random({5, 64});
  const DeviceArray y(x), blocks(at::zeros({cuda::kNormBlocks, 64}));
  cuda::add_bias_backward(GetParam(), y.data(), 5, 64, blocks.f32(), true, nullptr, nullptr);
  EXPECT_TRUE(same_bits(y.host(), x));
}

TEMPER_BOTH_TYPES(GpuBias);

}  // namespace
}  // namespace temper::policy
