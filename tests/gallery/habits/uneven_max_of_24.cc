// task: uneven_max
// expect: FAIL_INCORRECT
// The other columns never win.

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m) {
    float top = x[0];
    for (int j = 1; j < 24; ++j) top = x[j] > top ? x[j] : top;
    y[i] = top;
  }
}
