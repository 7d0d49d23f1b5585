// task: matmul
// expect: FAIL_INCORRECT
// Large blocks from the heap used to be zero.

extern "C" void kernel(const float* x, const float* w, float* y, int n, int m) {
  float* sums = new float[(10 << 20) + n * m];
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < m; ++k)
      for (int j = 0; j < m; ++j) sums[i * m + j] += x[i * m + k] * w[k * m + j];
  for (int i = 0; i < n * m; ++i) y[i] = sums[i];
  delete[] sums;
}
