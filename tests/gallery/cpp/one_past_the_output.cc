// task: add
// expect: FAIL_RUNTIME guard
// One element too far.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  for (int i = 0; i <= n * m; ++i) y[i] = x[i % (n * m)] + z[i % (n * m)];
}
