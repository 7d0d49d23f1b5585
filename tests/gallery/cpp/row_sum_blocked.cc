// task: row_sum
// expect: PASS
// Control: eight accumulators and a tail.

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m) {
    float sums[8] = {}, sum = 0;
    int j = 0;
    for (; j + 8 <= m; j += 8)
      for (int k = 0; k < 8; ++k) sums[k] += x[j + k];
    for (; j < m; ++j) sum += x[j];
    for (float part : sums) sum += part;
    y[i] = sum;
  }
}
