// CUDA ops against their CPU twins: dtypes × odd sizes.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "policy/ops/cuda.h"
#include "policy/ops/rms_norm.h"
#include "policy/ops/swiglu.h"

namespace temper {
namespace {

class GpuOps : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    int devices = 0;
    if (const auto error = cudaGetDeviceCount(&devices); error != cudaSuccess || devices == 0)
      GTEST_SKIP() << "no GPU: " << cudaGetErrorString(error);
  }
  at::ScalarType type() const { return GetParam() == DType::kBF16 ? at::kBFloat16 : at::kFloat; }
  at::Tensor random(at::IntArrayRef shape) const { return at::randn(shape, at::kFloat).to(type()); }
  // Half a unit in the last place of a bf16 is 2⁻⁹ of the value.
  double tolerance() const { return GetParam() == DType::kBF16 ? 0x1p-8 : 1e-5; }
};

// Device memory of a tensor's size.
class Buffer {
 public:
  explicit Buffer(const at::Tensor& host) : bytes_(host.nbytes()) {
    cuda::check(cudaMalloc(&data_, bytes_), "cudaMalloc");
    cuda::check(cudaMemcpy(data_, host.const_data_ptr(), bytes_, cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  ~Buffer() { cudaFree(data_); }
  void* data() const { return data_; }
  at::Tensor host(const at::Tensor& like) const {
    at::Tensor result = at::empty_like(like);
    cuda::check(cudaMemcpy(result.data_ptr(), data_, bytes_, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return result.to(at::kFloat);
  }

 private:
  void* data_ = nullptr;
  size_t bytes_;
};

const std::pair<int64_t, int64_t> kSizes[] = {{1, 1}, {3, 7}, {33, 128}, {5, 1000}, {129, 4096}};

TEST_P(GpuOps, RmsNormEqualsItsTwin) {
  for (const auto& [rows, width] : kSizes) {
    const at::Tensor x = random({rows, width}), w = random({width}), rstd = at::empty({rows});
    const Buffer gx(x), gw(w), gy(x), grstd(rstd);
    cuda::rms_norm(GetParam(), gx.data(), gw.data(), 1e-6, rows, width, gy.data(),
                   static_cast<float*>(grstd.data()), nullptr);
    const at::Tensor x32 = x.to(at::kFloat), w32 = w.to(at::kFloat), y = at::empty_like(x32);
    cpu::rms_norm(x32.const_data_ptr<float>(), w32.const_data_ptr<float>(), 1e-6, rows, width,
                  y.data_ptr<float>(), rstd.data_ptr<float>());
    EXPECT_TRUE(at::allclose(gy.host(x), y, tolerance(), 1e-6)) << rows << " x " << width;
    EXPECT_TRUE(at::allclose(grstd.host(rstd), rstd, 1e-5)) << rows << " x " << width;
  }
}

TEST_P(GpuOps, SwigluEqualsItsTwin) {
  for (const auto& [rows, width] : kSizes) {
    const at::Tensor gate_up = random({rows, 2 * width}) * 4, like = random({rows, width});
    const Buffer ggate_up(gate_up), gy(like);
    cuda::swiglu(GetParam(), ggate_up.data(), rows, width, gy.data(), nullptr);
    const at::Tensor gate_up32 = gate_up.to(at::kFloat), y = at::empty({rows, width});
    cpu::swiglu(gate_up32.const_data_ptr<float>(), rows, width, y.data_ptr<float>());
    EXPECT_TRUE(at::allclose(gy.host(like), y, tolerance(), 1e-6)) << rows << " x " << width;
  }
}

INSTANTIATE_TEST_SUITE_P(Policy, GpuOps, testing::Values(DType::kF32, DType::kBF16),
                         [](const auto& type) { return std::string(to_string(type.param)); });

}  // namespace
}  // namespace temper
