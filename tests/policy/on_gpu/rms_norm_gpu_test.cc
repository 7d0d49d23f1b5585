// CUDA rms_norm and its backward against the CPU's: dtypes × odd sizes, and the promises about bits.

#include "policy/ops/cpu/parallel.h"
#include "policy/ops/cpu/rms_norm.h"
#include "tests/policy/on_gpu/gpu_test.h"

namespace temper::policy {
namespace {

using GpuRmsNorm = GpuOps;

constexpr double kRmsEps = 1e-6;
const std::pair<int64_t, int64_t> kSizes[] = {{1, 8},     {3, 40},   {33, 128},  {1000, 512},
                                              {65, 576},  {33, 896}, {17, 960},  {129, 1000},
                                              {33, 4096}, {5, 5120}, {3, 12288}, {2, 20000}};

at::Tensor every_other(int64_t rows) { return at::arange(rows, at::kInt) * 2 + 1; }

at::Tensor norm(DType dtype, const at::Tensor& x, const at::Tensor& w, const at::Tensor* index = nullptr) {
  const int64_t rows = index ? index->numel() : x.size(0);
  const DeviceArray gx(x), gw(w), gy(at::full({rows, x.size(1)}, -7, x.scalar_type())),
      gindex(index ? *index : at::zeros({1}, at::kInt));
  cuda::rms_norm(dtype, gx.data(), index ? gindex.i32() : nullptr, gw.data(), kRmsEps, rows, x.size(1),
                 gy.data(), nullptr);
  return gy.host();
}

TEST_P(GpuRmsNorm, EqualsItsTwin) {
  for (const auto& [rows, width] : kSizes) {
    const at::Tensor x = random({rows, width}, 3), w = random({width});
    const at::Tensor x64 = doubles(x), w64 = doubles(w), y = at::empty_like(x64),
                     rstd = doubles(at::empty({rows}));
    cpu::rms_norm(data(x64), data(w64), kRmsEps, rows, width, data(y), data(rstd));
    expect_close(norm(GetParam(), x, w), y, y, 32, fmt::format("{} x {}", rows, width));
  }
}

TEST_P(GpuRmsNorm, ARowHasTheSameBitsAloneAndByIndex) {
  for (const int64_t width : {128, 576, 896, 1000, 4096, 8192}) {
    const at::Tensor x = random({1000, width}), w = random({width}), all = norm(GetParam(), x, w);
    const at::Tensor index = every_other(500), picked = norm(GetParam(), x, w, &index);
    EXPECT_TRUE(same_bits(all, norm(GetParam(), x, w)));
    EXPECT_TRUE(same_bits(picked, all.index_select(0, index).contiguous())) << width;
    for (const int64_t row : {0, 1, 517, 999})
      EXPECT_TRUE(same_bits(norm(GetParam(), x.narrow(0, row, 1), w), all.narrow(0, row, 1).contiguous()))
          << "row " << row << " of width " << width;
  }
}

struct Gradients {
  at::Tensor dx, dw_blocks;
};

Gradients backward(DType dtype, const at::Tensor& dy, const at::Tensor& x, const at::Tensor& w,
                   const at::Tensor& dx, const at::Tensor* index = nullptr) {
  const DeviceArray gdy(dy), gx(x), gw(w), gdx(dx), gdw(at::full({cuda::kNormBlocks, x.size(1)}, -7.f)),
      gindex(index ? *index : at::zeros({1}, at::kInt));
  cuda::rms_norm_backward(dtype, gdy.data(), gx.data(), index ? gindex.i32() : nullptr, gw.data(), kRmsEps,
                          dy.size(0), x.size(1), gdx.data(), gdw.f32(), nullptr);
  return {gdx.host(), gdw.host()};
}

TEST_P(GpuRmsNorm, BackwardEqualsItsTwin) {
  for (const auto& [rows, width] : kSizes) {
    const at::Tensor dy = random({rows, width}), x = random({rows, width}, 3), w = random({width}),
                     residual = random({rows, width});
    const at::Tensor dy64 = doubles(dy), x64 = doubles(x), w64 = doubles(w), dx = doubles(residual);
    const at::Tensor y = at::empty_like(x64), rstd = doubles(at::empty({rows, 1}));
    const int64_t blocks = (rows + cpu::kRowBlock - 1) / cpu::kRowBlock;
    const at::Tensor dw_blocks = doubles(at::empty({blocks, width}));
    cpu::rms_norm(data(x64), data(w64), kRmsEps, rows, width, data(y), data(rstd));
    cpu::rms_norm_backward(data(dy64), data(x64), data(w64), data(rstd), rows, width, data(dx), data(dx),
                           data(dw_blocks));
    const Gradients g = backward(GetParam(), dy, x, w, residual);
    const at::Tensor unit = x64 * rstd, terms = (w64 * dy64).abs();
    const at::Tensor size =
        rstd * (terms + unit.abs() * (terms * unit).abs().mean(1, true)) + doubles(residual).abs();
    const std::string what = fmt::format("{} x {}", rows, width);
    expect_close(g.dx, dx, size, 32, "dx " + what);
    expect_close(doubles(g.dw_blocks).sum(0), dw_blocks.sum(0), (dy64 * unit).abs().sum(0), 32, "dw " + what);
  }
}

TEST_P(GpuRmsNorm, BackwardOfARowHasTheSameBitsAloneAndByIndex) {
  for (const int64_t width : {128, 576, 896, 4096}) {
    const at::Tensor dy = random({1000, width}), x = random({1000, width}), w = random({width}),
                     residual = random({1000, width});
    const Gradients all = backward(GetParam(), dy, x, w, residual),
                    again = backward(GetParam(), dy, x, w, residual);
    EXPECT_TRUE(same_bits(all.dx, again.dx) && same_bits(all.dw_blocks, again.dw_blocks));
    const at::Tensor index = every_other(500);
    const Gradients picked =
        backward(GetParam(), dy.index_select(0, index).contiguous(), x, w, residual, &index);
    at::Tensor expected = residual.clone();
    expected.index_copy_(0, index.to(at::kLong), all.dx.index_select(0, index));
    EXPECT_TRUE(same_bits(picked.dx, expected)) << width;
    const auto row = [](const at::Tensor& t) { return t.narrow(0, 517, 1).contiguous(); };
    EXPECT_TRUE(same_bits(backward(GetParam(), row(dy), row(x), w, row(residual)).dx, row(all.dx))) << width;
  }
}

TEST_P(GpuRmsNorm, BlocksAddUp) {
  for (const auto& [blocks, width] : {std::pair<int64_t, int64_t>{1, 8}, {3, 40}, {264, 4096}, {1000, 129}}) {
    const at::Tensor dw_blocks = at::randn({blocks, width + 5}), dw = at::randn({width});
    const DeviceArray gblocks(dw_blocks), gdw(dw);
    cuda::add_blocks(gblocks.f32(), blocks, width + 5, width, true, gdw.f32(), nullptr);
    const at::Tensor terms = doubles(dw_blocks).narrow(1, 0, width);
    expect_close(gdw.host(), doubles(dw) + terms.sum(0), doubles(dw).abs() + terms.abs().sum(0), 64,
                 fmt::format("{} x {}", blocks, width));
    const DeviceArray anew(at::full({width}, NAN, at::kFloat)), zeros(at::zeros({width}));
    cuda::add_blocks(gblocks.f32(), blocks, width + 5, width, false, anew.f32(), nullptr);
    cuda::add_blocks(gblocks.f32(), blocks, width + 5, width, true, zeros.f32(), nullptr);
    EXPECT_TRUE(same_bits(anew.host(), zeros.host())) << width;
  }
}

TEMPER_BOTH_TYPES(GpuRmsNorm);

}  // namespace
}  // namespace temper::policy
