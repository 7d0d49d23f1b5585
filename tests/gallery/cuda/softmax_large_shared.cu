// task: gpu_softmax
// expect: PASS
// A row in dynamic shared memory, with 100 KiB asked for.

__device__ float warp_sum(float v) {
  for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(~0u, v, o);
  return v;
}
__device__ float warp_max(float v) {
  for (int o = 16; o > 0; o /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, o));
  return v;
}

__global__ void work(const float* x, float* y, int m) {
  extern __shared__ float row[];
  __shared__ float part[8];
  const float* in = x + size_t(blockIdx.x) * m;
  float most = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < m; i += 256) most = fmaxf(most, row[i] = in[i]);
  most = warp_max(most);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = most;
  __syncthreads();
  for (int i = 0; i < 8; ++i) most = fmaxf(most, part[i]);
  __syncthreads();
  for (int i = threadIdx.x; i < m; i += 256) sum += row[i] = __expf(row[i] - most);
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
  for (int i = 0; i < 8; ++i) sum += part[i];
  for (int i = threadIdx.x; i < m; i += 256) y[size_t(blockIdx.x) * m + i] = row[i] / sum;
}

extern "C" void launch(const float* x, float* y, int n, int m) {
  cudaFuncSetAttribute(work, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10);
  work<<<n, 256, 100 << 10>>>(x, y, m);
}
