// task: linear
// expect: PASS
// Control: the inner loop runs along rows.

extern "C" void kernel(const float* x, const float* w, const float* b, float* y, int n, int m) {
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < m; ++j) y[i * m + j] = b[j];
    for (int k = 0; k < m; ++k)
      for (int j = 0; j < m; ++j) y[i * m + j] += x[i * m + k] * w[k * m + j];
  }
}
