// task: gpu_scale_rows_add
// expect: PASS
// One pass, rows by blocks.

__global__ void work(const float* x, const float* b, const float* z, float* y, int m) {
  const float scale = b[blockIdx.x];
  for (int j = threadIdx.x; j < m; j += 256) {
    const size_t i = size_t(blockIdx.x) * m + j;
    y[i] = x[i] * scale + z[i];
  }
}

extern "C" void launch(const float* x, const float* b, const float* z, float* y, int n, int m) {
  work<<<n, 256>>>(x, b, z, y, m);
}
