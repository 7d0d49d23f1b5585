// CUDA swiglu and its backward against the CPU's.

#include "policy/ops/cpu/swiglu.h"
#include "tests/policy/on_gpu/gpu_test.h"

namespace temper::policy {
namespace {

using GpuSwiglu = GpuOps;

const std::pair<int64_t, int64_t> kSizes[] = {{1, 8},      {3, 40},    {1000, 128},
                                              {129, 1000}, {33, 4096}, {3, 12288}};

at::Tensor swiglu(DType dtype, const at::Tensor& gate_up) {
  const int64_t rows = gate_up.size(0), width = gate_up.size(1) / 2;
  const DeviceArray ggate_up(gate_up), gy(at::full({rows, width}, -7, gate_up.scalar_type()));
  cuda::swiglu(dtype, ggate_up.data(), rows, width, gy.data(), nullptr);
  return gy.host();
}

TEST_P(GpuSwiglu, EqualsItsTwin) {
  for (const auto& [rows, width] : kSizes) {
    const at::Tensor gate_up = random({rows, 2 * width}, 4), gate_up64 = doubles(gate_up);
    const at::Tensor y = doubles(at::empty({rows, width}));
    cpu::swiglu(data(gate_up64), rows, width, data(y));
    expect_close(swiglu(GetParam(), gate_up), y, y, 32, fmt::format("{} x {}", rows, width));
  }
}

TEST_P(GpuSwiglu, LargeGatesNeitherOverflowNorVanish) {
  const at::Tensor gate_up =
      at::tensor({-200., -90., -80., -1., 0., 80., 90., 200., 1., 1., 1., 1., 1., 1., 1., 1.})
          .to(type())
          .reshape({1, 16});
  const at::Tensor y = doubles(at::empty({1, 8})), gate_up64 = doubles(gate_up);
  cpu::swiglu(data(gate_up64), 1, 8, data(y));
  const at::Tensor actual = doubles(swiglu(GetParam(), gate_up));
  EXPECT_TRUE(at::allclose(actual, y, 0x1p-8, 1e-30)) << actual << y;
}

TEST_P(GpuSwiglu, BackwardEqualsItsTwinAndGivesTheOutputAgain) {
  for (const auto& [rows, width] : kSizes) {
    const at::Tensor gate_up = random({rows, 2 * width}, 4), dy = random({rows, width});
    const at::Tensor gate_up64 = doubles(gate_up), dy64 = doubles(dy), expected = at::empty_like(gate_up64);
    cpu::swiglu_backward(data(dy64), data(gate_up64), rows, width, data(expected));
    const DeviceArray ggate_up(gate_up), gdy(dy), gy(dy);
    cuda::swiglu_backward(GetParam(), gdy.data(), ggate_up.data(), rows, width, gy.data(), nullptr);
    const at::Tensor gate = gate_up64.narrow(1, 0, width), up = gate_up64.narrow(1, width, width);
    const at::Tensor s = gate.sigmoid();
    const at::Tensor size = at::cat({(dy64 * up).abs() * (s + (gate * s).abs()), (dy64 * gate * s).abs()}, 1);
    const std::string what = fmt::format("{} x {}", rows, width);
    expect_close(ggate_up.host(), expected, size, 32, what);
    EXPECT_TRUE(same_bits(gy.host(), swiglu(GetParam(), gate_up))) << what;
  }
}

TEST_P(GpuSwiglu, ARowHasTheSameBitsAlone) {
  const at::Tensor gate_up = random({1000, 2 * 1000}), all = swiglu(GetParam(), gate_up);
  EXPECT_TRUE(same_bits(all, swiglu(GetParam(), gate_up)));
  for (const int64_t row : {0, 517, 999})
    EXPECT_TRUE(same_bits(swiglu(GetParam(), gate_up.narrow(0, row, 1)), all.narrow(0, row, 1).contiguous()));
}

TEMPER_BOTH_TYPES(GpuSwiglu);

}  // namespace
}  // namespace temper::policy
