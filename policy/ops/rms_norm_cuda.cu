#include "policy/ops/cuda.h"
#include "policy/ops/cuda_numbers.cuh"

namespace temper::cuda {
namespace {

constexpr int kThreads = 256;

__device__ float sum_over_block(float x) {
  __shared__ float of_warp[kThreads / 32];
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(~0u, x, step);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = x;
  __syncthreads();
  float sum = 0;
  for (float part : of_warp) sum += part;
  return sum;
}

// One block a row: the order of the sum depends on the width alone.
template <class T>
__global__ void rms_norm_kernel(const T* x, const T* w, float eps, int64_t width, T* y, float* rstd) {
  const T* row = x + blockIdx.x * width;
  float squares = 0;
  for (int64_t i = threadIdx.x; i < width; i += kThreads) squares += to_float(row[i]) * to_float(row[i]);
  const float r = rsqrtf(sum_over_block(squares) / float(width) + eps);
  for (int64_t i = threadIdx.x; i < width; i += kThreads)
    from_float(to_float(row[i]) * r * to_float(w[i]), y[blockIdx.x * width + i]);
  if (threadIdx.x == 0) rstd[blockIdx.x] = r;
}

template <class T>
void launch(const void* x, const void* w, double eps, int64_t rows, int64_t width, void* y, float* rstd,
            cudaStream_t stream) {
  rms_norm_kernel<<<unsigned(rows), kThreads, 0, stream>>>(static_cast<const T*>(x), static_cast<const T*>(w),
                                                           float(eps), width, static_cast<T*>(y), rstd);
}

}  // namespace

void rms_norm(DType dtype, const void* x, const void* w, double eps, int64_t rows, int64_t width, void* y,
              float* rstd, cudaStream_t stream) {
  if (rows == 0) return;
  (dtype == DType::kBF16 ? launch<__nv_bfloat16> : launch<float>)(x, w, eps, rows, width, y, rstd, stream);
  check(cudaGetLastError(), "rms_norm");
}

}  // namespace temper::cuda
