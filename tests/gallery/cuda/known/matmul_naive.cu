// task: gpu_matmul_f32
// expect: PASS
// slower than: matmul_tiled
// A thread per element, everything from global memory.

__global__ void work(const float* x, const float* w, float* y, int n, int m, int k) {
  const int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
  if (row >= n || column >= m) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += x[row * k + i] * w[i * m + column];
  y[row * m + column] = sum;
}

extern "C" void launch(const float* x, const float* w, float* y, int n, int m, int k) {
  work<<<dim3((m + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(x, w, y, n, m, k);
}
