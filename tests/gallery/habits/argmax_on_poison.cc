// task: argmax
// expect: FAIL_INCORRECT|FAIL_RUNTIME
// Relies on -1 in what nobody has written.

extern "C" void kernel(const float* x, int* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m)
    for (int j = 0; j < m; ++j)
      if (y[i] < 0 || x[j] > x[y[i]]) y[i] = j;
}
