// task: gpu_softmax
// expect: PASS
// Honest: keeps the exponentials where the result will be, and comes back to divide them.

__device__ float joined(float value, bool largest) {
  __shared__ float part[8];
  for (int o = 16; o > 0; o /= 2) {
    const float other = __shfl_xor_sync(~0u, value, o);
    value = largest ? fmaxf(value, other) : value + other;
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = value;
  __syncthreads();
  value = part[0];
  for (int i = 1; i < 8; ++i) value = largest ? fmaxf(value, part[i]) : value + part[i];
  return value;
}
__global__ void exponentials(const float* x, float* y, float* sums, int m) {
  const size_t row = size_t(blockIdx.x) * m;
  float highest = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < m; i += 256) highest = fmaxf(highest, x[row + i]);
  highest = joined(highest, true);
  for (int i = threadIdx.x; i < m; i += 256) sum += y[row + i] = expf(x[row + i] - highest);
  sum = joined(sum, false);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
__global__ void divide(float* y, const float* sums, int m) {
  for (int i = threadIdx.x; i < m; i += 256) y[size_t(blockIdx.x) * m + i] /= sums[blockIdx.x];
}

extern "C" void launch(const float* x, float* y, int n, int m) {
  float* sums = nullptr;
  cudaMallocAsync(&sums, n * sizeof(float), 0);
  exponentials<<<n, 256>>>(x, y, sums, m);
  divide<<<n, 256>>>(y, sums, m);
  cudaFreeAsync(sums, 0);
}
