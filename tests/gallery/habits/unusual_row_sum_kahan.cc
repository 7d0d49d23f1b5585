// task: row_sum
// expect: PASS
// Control: compensated.

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m) {
    volatile float sum = 0, lost = 0;
    for (int j = 0; j < m; ++j) {
      volatile const float term = x[j] - lost, next = sum + term;
      volatile const float gained = next - sum;
      lost = gained - term;
      sum = next;
    }
    y[i] = sum;
  }
}
