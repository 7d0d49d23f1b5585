// task: row_sum
// expect: PASS
// Control: a sum in plain order.

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i) {
    float sum = 0;
    for (int j = 0; j < m; ++j) sum += x[i * m + j];
    y[i] = sum;
  }
}
