// task: matmul
// expect: PASS
// Control: rows of w are passed over where x is zero.

extern "C" void kernel(const float* x, const float* w, float* y, int n, int m) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < m; ++j) y[i * m + j] = 0;
  for (int k = m - 1; k >= 0; --k)
    for (int i = 0; i < n; ++i) {
      const float factor = x[i * m + k];
      if (factor == 0) continue;
      for (int j = 0; j < m; ++j) y[i * m + j] += factor * w[k * m + j];
    }
}
