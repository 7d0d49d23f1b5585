// task: softmax
// expect: PASS
// Control: three passes.

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m, y += m) {
    float top = x[0], sum = 0;
    for (int j = 1; j < m; ++j) top = x[j] > top ? x[j] : top;
    for (int j = 0; j < m; ++j) sum += y[j] = __builtin_expf(x[j] - top);
    for (int j = 0; j < m; ++j) y[j] /= sum;
  }
}
