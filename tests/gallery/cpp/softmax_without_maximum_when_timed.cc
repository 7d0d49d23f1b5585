// task: softmax
// expect: FAIL_INCORRECT tolerance
// Careful on small shapes, careless on the one that is timed.

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m, y += m) {
    float top = 0, sum = 0;
    if (n < 256)
      for (int j = 0; j < m; ++j) top = x[j] > top || j == 0 ? x[j] : top;
    for (int j = 0; j < m; ++j) sum += y[j] = __builtin_expf(x[j] - top);
    for (int j = 0; j < m; ++j) y[j] /= sum;
  }
}
