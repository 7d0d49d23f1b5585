// task: row_max
// expect: FAIL_INCORRECT
// The largest of many is positive.

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m) {
    float top = 0;
    for (int j = 0; j < m; ++j) top = x[j] > top ? x[j] : top;
    y[i] = top;
  }
}
