#include "policy/ops/cuda/exactness.h"
#include "policy/ops/cuda/ops.h"

namespace temper::policy::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void count_unequal_kernel(const uint16_t* a, const uint16_t* b, int64_t size, uint32_t* count) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const int unequal = __syncthreads_count(i < size && a[i] != b[i]);
  if (threadIdx.x == 0 && unequal > 0) atomicAdd(count, uint32_t(unequal));
}

}  // namespace

void count_unequal(const void* a, const void* b, int64_t size, uint32_t* count, cudaStream_t stream) {
  if (size == 0) return;
  const int64_t blocks = (size + kThreads - 1) / kThreads;
  count_unequal_kernel<<<unsigned(blocks), kThreads, 0, stream>>>(
      static_cast<const uint16_t*>(a), static_cast<const uint16_t*>(b), size, count);
  check(cudaGetLastError(), "count_unequal");
}

}  // namespace temper::policy::cuda
