// task: add
// expect: FAIL_INCORRECT unwritten
// The last row is left.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  for (int i = 0; i < (n - 1) * m; ++i) y[i] = x[i] + z[i];
}
