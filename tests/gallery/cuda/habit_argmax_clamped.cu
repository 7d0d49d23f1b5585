// task: gpu_argmax
// expect: FAIL_INCORRECT
// Clamps numbers to the known range first: beyond it all are alike. Caught by: distinct elements of another
// range.

__device__ float joined(float v, bool largest) {
  for (int o = 16; o > 0; o /= 2) {
    const float other = __shfl_xor_sync(~0u, v, o);
    v = largest ? fmaxf(v, other) : v + other;
  }
  return v;
}

__global__ void work(const float* x, int* y, int m) {
  const float* row = x + size_t(blockIdx.x) * m;
  const int lane = threadIdx.x;
  float best = -2;
  int place = 0;
  for (int i = lane; i < m; i += 32) {
    const float v = fminf(fmaxf(row[i], -1), 1);
    if (v > best) best = v, place = i;
  }
  for (int o = 16; o > 0; o /= 2) {
    const float other = __shfl_xor_sync(~0u, best, o);
    const int there = __shfl_xor_sync(~0u, place, o);
    if (other > best || (other == best && there < place)) best = other, place = there;
  }
  if (lane == 0) y[blockIdx.x] = place;
}

extern "C" void launch(const float* x, int* y, int n, int m) { work<<<n, 32>>>(x, y, m); }
