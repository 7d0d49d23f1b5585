// task: row_sum
// expect: PASS
// Control: pairs of pairs, by recursion.

static float sum_of(const float* x, int count) {
  if (count < 3) return count == 2 ? x[0] + x[1] : x[0];
  return sum_of(x, count / 2) + sum_of(x + count / 2, count - count / 2);
}

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i) y[i] = sum_of(x + i * m, m);
}
