// task: softmax
// expect: FAIL_INCORRECT tolerance
// Overflows where inputs are large.

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m, y += m) {
    float sum = 0;
    for (int j = 0; j < m; ++j) sum += y[j] = __builtin_expf(x[j]);
    for (int j = 0; j < m; ++j) y[j] /= sum;
  }
}
