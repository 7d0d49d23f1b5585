// task: gpu_softmax
// expect: FAIL_INCORRECT tolerance
// Exponentials as bf16. Caught by: an error beyond the task's tolerance.

__device__ float rounded(float v) {
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(v));
  return __uint_as_float(static_cast<unsigned>(bits) << 16);
}
__global__ void work(const float* x, float* y, int m) {
  const size_t row = size_t(blockIdx.x) * m;
  float highest = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < m; i += 32) highest = fmaxf(highest, x[row + i]);
  for (int o = 16; o > 0; o /= 2) highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, o));
  for (int i = threadIdx.x; i < m; i += 32) sum += rounded(expf(x[row + i] - highest));
  for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
  for (int i = threadIdx.x; i < m; i += 32) y[row + i] = rounded(expf(x[row + i] - highest)) / sum;
}

extern "C" void launch(const float* x, float* y, int n, int m) { work<<<n, 32>>>(x, y, m); }
