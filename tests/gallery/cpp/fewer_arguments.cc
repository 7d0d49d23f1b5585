// task: add
// expect: FAIL_COMPILE compile_error
// message: static assertion failed: the function must be: extern "C" void kernel(const float* x, const float* z, float*
// Takes one size for two.

extern "C" void kernel(const float* x, const float* z, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = x[i] + z[i];
}
