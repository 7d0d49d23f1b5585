// task: gpu_matmul_f32
// expect: PASS
// slower than: matmul_registers
// Tiles of 32 x 32 in shared memory, an element a thread.

__global__ void work(const float* x, const float* w, float* y, int n, int m, int k) {
  __shared__ float a[32][32], b[32][32];
  const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
  float sum = 0;
  for (int start = 0; start < k; start += 32) {
    const int i = start + threadIdx.x, j = start + threadIdx.y;
    a[threadIdx.y][threadIdx.x] = row < n && i < k ? x[row * k + i] : 0;
    b[threadIdx.y][threadIdx.x] = j < k && column < m ? w[j * m + column] : 0;
    __syncthreads();
#pragma unroll
    for (int t = 0; t < 32; ++t) sum += a[threadIdx.y][t] * b[t][threadIdx.x];
    __syncthreads();
  }
  if (row < n && column < m) y[row * m + column] = sum;
}

extern "C" void launch(const float* x, const float* w, float* y, int n, int m, int k) {
  work<<<dim3((m + 31) / 32, (n + 31) / 32), dim3(32, 32)>>>(x, w, y, n, m, k);
}
