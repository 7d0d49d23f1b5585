// task: gpu_row_max
// expect: FAIL_INCORRECT
// Compares bits as integers, which is right as long as the maximum is positive. Caught by: draws of one
// sign.

__device__ float joined(float v, bool largest) {
  for (int o = 16; o > 0; o /= 2) {
    const float other = __shfl_xor_sync(~0u, v, o);
    v = largest ? fmaxf(v, other) : v + other;
  }
  return v;
}

__global__ void work(const float* x, float* y, int m) {
  const float* row = x + size_t(blockIdx.x) * m;
  const int lane = threadIdx.x;
  int highest = -2147483647;
  for (int i = lane; i < m; i += 32) highest = max(highest, __float_as_int(row[i]));
  for (int o = 16; o > 0; o /= 2) highest = max(highest, __shfl_xor_sync(~0u, highest, o));
  if (lane == 0) y[blockIdx.x] = __int_as_float(highest);
}

extern "C" void launch(const float* x, float* y, int n, int m) { work<<<n, 32>>>(x, y, m); }
