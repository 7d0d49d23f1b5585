// task: add
// expect: PASS
// Control: a comment that is no UTF-8: ÿþÀ€ í €

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
