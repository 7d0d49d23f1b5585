// task: sign
// expect: FAIL_INCORRECT
// No element is zero.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) y[i] = x[i] > 0 ? z[i] : -z[i];
}
