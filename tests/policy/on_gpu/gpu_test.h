#pragma once
// What the tests of CUDA ops share: device memory, and how far a result may be from that of the CPU's twin in
// double precision.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "policy/ops/cuda/ops.h"

namespace temper::policy {

constexpr double kEps = 0x1p-24;  // half a unit in the last place of an f32, relative

// Device memory with a tensor's values.
class DeviceArray {
 public:
  explicit DeviceArray(const at::Tensor& host) : like_(host.contiguous()) {
    cuda::check(cudaMalloc(&data_, std::max<size_t>(like_.nbytes(), 16)), "cudaMalloc");
    cuda::check(cudaMemcpy(data_, like_.const_data_ptr(), like_.nbytes(), cudaMemcpyHostToDevice),
                "cudaMemcpy");
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  void* data() const { return data_; }
  float* f32() const { return static_cast<float*>(data_); }
  int32_t* i32() const { return static_cast<int32_t*>(data_); }
  // Row `row` of the first dimension.
  void* row(int64_t row) const {
    return static_cast<char*>(data_) + row * like_.stride(0) * like_.element_size();
  }
  at::Tensor host() const {
    at::Tensor result = at::empty_like(like_);
    cuda::check(cudaMemcpy(result.data_ptr(), data_, like_.nbytes(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return result;
  }

 private:
  at::Tensor like_;
  void* data_ = nullptr;
};

inline void begin_gpu_test() {
  int devices = 0;
  if (const auto error = cudaGetDeviceCount(&devices); error != cudaSuccess || devices == 0)
    GTEST_SKIP() << "no GPU: " << cudaGetErrorString(error);
  at::manual_seed(1);
}

class GpuTest : public testing::Test {
 protected:
  void SetUp() override { begin_gpu_test(); }
};

class GpuOps : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override { begin_gpu_test(); }
  at::ScalarType type() const { return GetParam() == DType::kBF16 ? at::kBFloat16 : at::kFloat; }
  at::Tensor random(at::IntArrayRef shape, double scale = 1) const {
    return (at::randn(shape, at::kFloat) * scale).to(type());
  }
  // Of a result before it is rounded: `steps` roundings of terms that are together as large as `size`.
  // Rounded to bf16, values on either side of a boundary differ by 2⁻⁸.
  void expect_close(const at::Tensor& actual, const at::Tensor& expected, const at::Tensor& size,
                    double steps, const std::string& what) const {
    const at::Tensor a = actual.to(at::kDouble).reshape(-1), e = expected.reshape(-1);
    const bool rounded = actual.scalar_type() == at::kBFloat16;
    const at::Tensor allowed =
        size.abs().expand_as(expected).reshape(-1) * (steps * kEps) + e.abs() * (rounded ? 0x1p-8 : kEps);
    const at::Tensor wrong = ((a - e).abs() <= allowed + 1e-37).logical_not().nonzero().reshape(-1);
    if (wrong.numel() == 0) return;
    const int64_t i = wrong[0].item<int64_t>();
    ADD_FAILURE() << what << ": " << wrong.numel() << " of " << a.numel() << " differ, first at " << i << ": "
                  << a[i].item<double>() << " for " << e[i].item<double>() << ", allowed "
                  << allowed[i].item<double>();
  }
};

inline at::Tensor doubles(const at::Tensor& x) { return x.to(at::kDouble).contiguous(); }
inline double* data(const at::Tensor& x) { return x.data_ptr<double>(); }
inline at::Tensor ints(const std::vector<int32_t>& values) {
  return at::tensor(at::ArrayRef<int32_t>(values), at::kInt);
}
inline bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  return a.nbytes() == b.nbytes() && std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0;
}

inline at::Tensor random_bf16(at::IntArrayRef shape, double scale = 1) {
  return (at::randn(shape, at::kFloat) * scale).to(at::kBFloat16);
}
// What nothing has written yet: not a number.
inline at::Tensor unwritten(at::IntArrayRef shape, at::ScalarType type = at::kBFloat16) {
  return at::full(shape, NAN, at::TensorOptions(type));
}
// How many bf16 or f32 numbers have other bits.
inline int64_t unequal_bits(const at::Tensor& a, const at::Tensor& b) {
  const auto bits = a.element_size() == 2 ? at::kShort : at::kInt;
  return a.contiguous().view(bits).ne(b.contiguous().view(bits)).sum().item<int64_t>();
}
// The largest difference beside the largest value.
inline double relative_error(const at::Tensor& actual, const at::Tensor& expected) {
  const at::Tensor want = expected.to(at::kDouble);
  return ((actual.to(at::kDouble) - want).abs().max() / want.abs().max()).item<double>();
}

#define TEMPER_BOTH_TYPES(Fixture)                                                   \
  INSTANTIATE_TEST_SUITE_P(Gpu, Fixture, testing::Values(DType::kF32, DType::kBF16), \
                           [](const auto& type) { return std::string(to_string(type.param)); })

}  // namespace temper::policy
