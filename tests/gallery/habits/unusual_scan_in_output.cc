// task: scan_rows
// expect: PASS
// Control: running sums of pairs in the output.

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m, y += m) {
    y[0] = x[0];
    int j = 1;
    for (; j + 2 <= m; j += 2) {
      const float pair = x[j] + x[j + 1];
      y[j] = y[j - 1] + x[j];
      y[j + 1] = y[j - 1] + pair;
    }
    if (j < m) y[j] = y[j - 1] + x[j];
  }
}
