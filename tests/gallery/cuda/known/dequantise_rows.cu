// task: gpu_dequantise_rows
// expect: PASS
// One pass, rows by blocks.

__global__ void work(const int* q, const float* b, float* y, int m) {
  const float step = b[blockIdx.x];
  for (int j = threadIdx.x; j < m; j += 256) {
    const size_t i = size_t(blockIdx.x) * m + j;
    y[i] = float(q[i] - 128) * step;
  }
}

extern "C" void launch(const int* q, const float* b, float* y, int n, int m) { work<<<n, 256>>>(q, b, y, m); }
