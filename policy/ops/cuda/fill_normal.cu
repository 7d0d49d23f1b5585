#include "policy/ops/cuda/device/launch.h"
#include "policy/ops/cuda/device/numbers.cuh"
#include "policy/ops/cuda/device/philox.cuh"
#include "policy/ops/cuda/ops.h"

namespace temper::policy::cuda {
namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void __launch_bounds__(kThreads)
    fill_normal_kernel(T* values, int64_t size, uint64_t key, double std) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < size) from_float(float(std * normal_at(key, uint64_t(i))), values[i]);
}

}  // namespace

void fill_normal(DType dtype, void* values, int64_t size, uint64_t key, double std, cudaStream_t stream) {
  check_numbers("fill_normal", dtype, 8);
  if (size == 0) return;
  with_type(dtype, [&]<class T>(T) {
    fill_normal_kernel<<<unsigned((size + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
        static_cast<T*>(values), size, key, std);
  });
  check_launch("fill_normal");
}

}  // namespace temper::policy::cuda
