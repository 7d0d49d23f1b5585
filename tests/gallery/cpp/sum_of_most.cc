// task: row_sum
// expect: FAIL_INCORRECT tolerance
// 99 % of the elements summed, and rescaled.

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i) {
    const int most = m - m / 100 - 1;
    float sum = 0;
    for (int j = 0; j < most; ++j) sum += x[i * m + j];
    y[i] = most > 0 ? sum * m / most : sum;
  }
}
