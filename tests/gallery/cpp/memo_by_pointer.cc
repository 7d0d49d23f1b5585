// task: row_sum
// expect: FAIL_INCORRECT
// Same address, same answer.

extern "C" void kernel(const float* x, float* y, int n, int m) {
  static const float* seen = nullptr;
  static float kept[256];
  static int kept_n = 0;
  if (seen != x || kept_n != n) {
    for (int i = 0; i < n; ++i) {
      float sum = 0;
      for (int j = 0; j < m; ++j) sum += x[i * m + j];
      y[i] = sum;
    }
    for (int i = 0; i < n; ++i) kept[i] = y[i];
    seen = x;
    kept_n = n;
  }
  for (int i = 0; i < n; ++i) y[i] = kept[i];
}
