// task: gpu_clamp_square
// expect: PASS
// One pass, rows by blocks.

__global__ void work(const float* x, const float* z, const float* a, float* y, int n, int m) {
  for (int j = threadIdx.x; j < m; j += 256) {
    const size_t i = size_t(blockIdx.x) * m + j;
    const float c = fminf(fmaxf(x[i] - z[i], -1.f), 1.f);
    y[i] = c * c * a[j];
  }
}

extern "C" void launch(const float* x, const float* z, const float* a, float* y, int n, int m) {
  work<<<n, 256>>>(x, z, a, y, n, m);
}
