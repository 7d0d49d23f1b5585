// task: linear
// expect: FAIL_INCORRECT
// n and m confused.

extern "C" void kernel(const float* x, const float* w, const float* b, float* y, int n, int m) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < m; ++j) {
      float sum = b[j];
      for (int k = 0; k < n && k < m; ++k) sum += x[i * m + k] * w[k * m + j];
      y[i * m + j] = sum;
    }
}
