// task: row_max
// expect: FAIL_INCORRECT tolerance
// Every 16th element is not looked at.

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m) {
    float top = x[0];
    for (int j = 1; j < m; ++j) top = j % 16 != 7 && x[j] > top ? x[j] : top;
    y[i] = top;
  }
}
