// task: row_sum
// expect: FAIL_INCORRECT
// Begins anew where it finds no number.

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m)
    for (int j = 0; j < m; ++j) y[i] = y[i] == y[i] ? y[i] + x[j] : x[j];
}
