// task: scan_rows
// expect: FAIL_INCORRECT
// Sums integers of 2^-20; they overflow beyond 2048.

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m, y += m) {
    int sum = 0;
    for (int j = 0; j < m; ++j)
      y[j] = float(sum += int(x[j] * 1048576.0f + (x[j] < 0 ? -0.5f : 0.5f))) / 1048576.0f;
  }
}
