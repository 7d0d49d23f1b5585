// task: sign
// expect: PASS
// Control: the difference of two comparisons.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) y[i] = float((x[i] > 0) - (x[i] < 0)) * z[i];
}
