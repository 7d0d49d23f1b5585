// task: gpu_row_sum
// expect: PASS
// Honest: all 227 KiB of shared memory that a block can have, rows in it.

constexpr int kBytes = 227 << 10, kFloats = kBytes / 4 - 8;

__global__ void work(const float* x, float* y, int n, int m) {
  extern __shared__ float kept[];
  float* const part = kept + kFloats;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, fits = min(m, kFloats / 8);
  for (int row = blockIdx.x * 8 + warp; row < n; row += 8 * gridDim.x) {
    float* const mine = kept + warp * (kFloats / 8);
    for (int i = lane; i < fits; i += 32) mine[i] = x[size_t(row) * m + i];
    __syncwarp();
    float sum = 0;
    for (int i = lane; i < fits; i += 32) sum += mine[i];
    for (int i = fits + lane; i < m; i += 32) sum += x[size_t(row) * m + i];
    for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
    if (lane == 0) part[warp] = sum, y[row] = part[warp];
    __syncwarp();
  }
}

extern "C" void launch(const float* x, float* y, int n, int m) {
  cudaFuncSetAttribute(work, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  work<<<132, 256, kBytes>>>(x, y, n, m);
}
