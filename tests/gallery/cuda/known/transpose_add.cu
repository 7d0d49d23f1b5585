// task: gpu_transpose_add
// expect: PASS
// Tiles of 32 x 32 through shared memory.

__global__ void work(const float* x, const float* z, float* y, int n, int m) {
  __shared__ float tile[32][33];
  for (int r = threadIdx.y; r < 32; r += 8) {
    const int i = blockIdx.y * 32 + r, j = blockIdx.x * 32 + threadIdx.x;
    if (i < n && j < m) tile[r][threadIdx.x] = x[size_t(i) * m + j];
  }
  __syncthreads();
  for (int r = threadIdx.y; r < 32; r += 8) {
    const int j = blockIdx.x * 32 + r, i = blockIdx.y * 32 + threadIdx.x;
    if (i < n && j < m) y[size_t(j) * n + i] = tile[threadIdx.x][r] + z[size_t(j) * n + i];
  }
}

extern "C" void launch(const float* x, const float* z, float* y, int n, int m) {
  work<<<dim3((m + 31) / 32, (n + 31) / 32), dim3(32, 8)>>>(x, z, y, n, m);
}
