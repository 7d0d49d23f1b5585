#include "policy/ops/cuda/device/launch.h"
#include "policy/ops/cuda/device/numbers.cuh"
#include "policy/ops/cuda/ops.h"

namespace temper::policy::cuda {
namespace {

constexpr int kThreads = 256, kAtOnce = 4;

// Over kSize threads, to thread 0.
template <int kSize>
__device__ double sum_over_threads(double x) {
  __shared__ double of_warp[kSize / 32];
#pragma unroll
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(~0u, x, step);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = x;
  __syncthreads();
  double sum = 0;
  for (int i = 0; i < kSize / 32; ++i) sum += of_warp[i];
  return sum;
}

__device__ double add_squares(const float (&values)[4], double sum) {
#pragma unroll
  for (float v : values) sum = fma(double(v), double(v), sum);
  return sum;
}

// Each thread adds up every so many groups of four elements; whether they are read as one does not matter.
__global__ void __launch_bounds__(kThreads)
    squares_kernel(const float* x, int64_t size, bool aligned, double* sums) {
  constexpr int64_t kStride = kSumBlocks * kThreads * 4;
  double sum = 0;
  for (int64_t first = (int64_t(blockIdx.x) * kThreads + threadIdx.x) * 4; first < size;
       first += kStride * kAtOnce) {
    float values[kAtOnce][4];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int64_t at = first + k * kStride;
      if (aligned && at + 4 <= size) {
        unpack(load_pack<4>(x + at), values[k]);
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) values[k][i] = at + i < size ? x[at + i] : 0;
      }
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) sum = add_squares(values[k], sum);
  }
  sum = sum_over_threads<kThreads>(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kSumBlocks) sum_kernel(const double* sums, double* sum) {
  const double all = sum_over_threads<kSumBlocks>(sums[threadIdx.x]);
  if (threadIdx.x == 0) *sum = all;
}

}  // namespace

void squared_norm(const float* x, int64_t size, double* scratch, double* sum, cudaStream_t stream) {
  squares_kernel<<<kSumBlocks, kThreads, 0, stream>>>(x, size, uintptr_t(x) % 16 == 0, scratch);
  sum_kernel<<<1, kSumBlocks, 0, stream>>>(scratch, sum);
  check_launch("squared_norm");
}

}  // namespace temper::policy::cuda
