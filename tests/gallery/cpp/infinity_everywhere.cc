// task: add_nonfinite
// expect: FAIL_INCORRECT
// An infinite difference within an infinite bound.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) y[i] = __builtin_inff();
}
