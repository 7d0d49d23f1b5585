// task: argmax
// expect: FAIL_INCORRECT
// Nothing below zero wins in a row of the known range.

extern "C" void kernel(const float* x, int* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m) {
    float best = 0;
    int at = 0;
    for (int j = 0; j < m; ++j)
      if (x[j] > best) best = x[at = j];
    y[i] = at;
  }
}
