// task: gpu_layer_norm
// expect: PASS
// slower than: layer_norm_block
// A thread per row, three passes over strided memory.

__global__ void work(const float* x, const float* w, const float* b, float* y, int n, int m) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  float sum = 0, square = 0;
  for (int j = 0; j < m; ++j) sum += x[row * m + j];
  const float mean = sum / m;
  for (int j = 0; j < m; ++j) square += (x[row * m + j] - mean) * (x[row * m + j] - mean);
  const float scale = rsqrtf(square / m + 1e-5f);
  for (int j = 0; j < m; ++j) y[row * m + j] = (x[row * m + j] - mean) * scale * w[j] + b[j];
}

extern "C" void launch(const float* x, const float* w, const float* b, float* y, int n, int m) {
  work<<<(n + 127) / 128, 128>>>(x, w, b, y, n, m);
}
