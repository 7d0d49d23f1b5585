// task: gpu_total
// expect: PASS
// Honest: two kernels and a workspace in which each part is written, by vectors and a tail.

__global__ void parts_of(const float* x, double* parts, int n) {
  double sum = 0;
  const int fours = n / 4;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < fours; i += gridDim.x * 256) {
    const float4 v = reinterpret_cast<const float4*>(x)[i];
    sum += (double(v.x) + v.y) + (double(v.z) + v.w);
  }
  if (blockIdx.x == 0 && threadIdx.x < n % 4) sum += x[4 * fours + threadIdx.x];
  for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
  if (threadIdx.x % 32 == 0) parts[8 * blockIdx.x + threadIdx.x / 32] = sum;
}
__global__ void finish(const double* parts, float* y) {
  double sum = 0;
  for (int i = threadIdx.x; i < 2048; i += 32) sum += parts[i];
  for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
  if (threadIdx.x == 0) y[0] = float(sum);
}

extern "C" void launch(const float* x, float* y, int n) {
  double* parts = nullptr;
  cudaMallocAsync(&parts, 2048 * sizeof(double), 0);
  parts_of<<<256, 256>>>(x, parts, n);
  finish<<<1, 32>>>(parts, y);
  cudaFreeAsync(parts, 0);
}
