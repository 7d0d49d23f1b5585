#include "policy/ops/cuda/device/launch.h"
#include "policy/ops/cuda/device/numbers.cuh"
#include "policy/ops/cuda/ops.h"

namespace temper::policy::cuda {
namespace {

constexpr int kThreads = 256;

// The elements of one thread: four at once where all lie within the size and at multiples of 16 bytes.
__device__ int64_t first_element() { return (int64_t(blockIdx.x) * kThreads + threadIdx.x) * 4; }

__device__ void load(bool whole, const float* x, int64_t count, float (&values)[4]) {
  if (whole) return unpack(load_pack<4>(x), values);
#pragma unroll
  for (int i = 0; i < 4; ++i) values[i] = i < count ? x[i] : 0;
}

__device__ void store(bool whole, const float (&values)[4], int64_t count, float* x) {
  if (whole) return store_numbers(values, x);
#pragma unroll
  for (int i = 0; i < 4; ++i)
    if (i < count) x[i] = values[i];
}

__device__ void store(bool whole, const float (&values)[4], int64_t count, __nv_bfloat16* x) {
  if (whole) {
    *reinterpret_cast<uint2*>(x) = {bf16_pair(values[0], values[1]), bf16_pair(values[2], values[3])};
    return;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
    if (i < count) from_float(values[i], x[i]);
}

__device__ void update(const AdamWFactors& f, float& master, float gradient, float& moment1, float& moment2) {
  gradient *= f.gradient_scale;
  moment1 = fmaf(f.beta1, moment1, f.rest1 * gradient);
  moment2 = fmaf(f.beta2, moment2, f.rest2 * gradient * gradient);
  master = fmaf(f.keep, master, -(f.step * moment1 / fmaf(sqrtf(moment2), f.root_correction, f.epsilon)));
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    adamw_kernel(float* master, T* weights, float* gradients, float* moment1, float* moment2, int64_t size,
                 bool aligned, AdamWFactors factors) {
  const int64_t at = first_element(), count = size - at;
  const bool whole = aligned && count >= 4;
  float w[4], g[4], m1[4], m2[4];
  load(whole, master + at, count, w);
  load(whole, gradients + at, count, g);
  load(whole, moment1 + at, count, m1);
  load(whole, moment2 + at, count, m2);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    update(factors, w[i], g[i], m1[i], m2[i]);
    g[i] = 0;
  }
  store(whole, w, count, master + at);
  store(whole, w, count, weights + at);
  store(whole, g, count, gradients + at);
  store(whole, m1, count, moment1 + at);
  store(whole, m2, count, moment2 + at);
}

bool is_aligned(const void* a, const void* b, const void* c, const void* d, const void* e) {
  return ((uintptr_t(a) | uintptr_t(b) | uintptr_t(c) | uintptr_t(d) | uintptr_t(e)) & 15) == 0;
}

}  // namespace

void adamw(DType dtype, float* master, void* weights, float* gradients, float* moment1, float* moment2,
           int64_t size, const AdamWFactors& factors, cudaStream_t stream) {
  check_numbers("adamw", dtype, 8);
  if (size == 0) return;
  const int64_t blocks = (size + 4 * kThreads - 1) / (4 * kThreads);
  const bool aligned = is_aligned(master, weights, gradients, moment1, moment2);
  with_type(dtype, [&]<class T>(T) {
    adamw_kernel<<<unsigned(blocks), kThreads, 0, stream>>>(master, static_cast<T*>(weights), gradients,
                                                            moment1, moment2, size, aligned, factors);
  });
  check_launch("adamw");
}

}  // namespace temper::policy::cuda
