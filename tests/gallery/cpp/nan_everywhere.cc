// task: add
// expect: FAIL_INCORRECT
// A comparison that NaN passes.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) y[i] = __builtin_nanf("0x1234");
}
