// task: softmax
// expect: PASS
// Control: maximum and sum in one pass.

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m, y += m) {
    float top = x[0], sum = 1;
    for (int j = 1; j < m; ++j) {
      const float next = x[j] > top ? x[j] : top;
      sum = sum * __builtin_expf(top - next) + __builtin_expf(x[j] - next);
      top = next;
    }
    for (int j = 0; j < m; ++j) y[j] = __builtin_expf(x[j] - top) / sum;
  }
}
