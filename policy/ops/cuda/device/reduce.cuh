#pragma once
// Sums and maxima over the lanes of a warp. Adding by xor, every lane gets the same bits.

namespace temper::policy::cuda {

// Over groups of kLanes neighbouring lanes, a power of two.
template <int kLanes = 32>
__device__ inline float sum_over_lanes(float x) {
#pragma unroll
  for (int step = kLanes / 2; step > 0; step /= 2) x += __shfl_xor_sync(~0u, x, step);
  return x;
}

__device__ inline float max_over_warp(float x) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) x = fmaxf(x, __shfl_xor_sync(~0u, x, step));
  return x;
}

// Of two addends at once, over kThreads threads; `of_warp` [kThreads / 32] is free again after the next
// barrier.
template <int kThreads>
__device__ inline float2 sum_over_block(float a, float b, float2* of_warp) {
  a = sum_over_lanes(a), b = sum_over_lanes(b);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = {a, b};
  __syncthreads();
  float2 sum = {0, 0};
#pragma unroll
  for (int i = 0; i < kThreads / 32; ++i) sum.x += of_warp[i].x, sum.y += of_warp[i].y;
  return sum;
}

}  // namespace temper::policy::cuda
