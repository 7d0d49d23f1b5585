// task: chain
// expect: PASS
// Control: one pass where eager makes six.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) {
    const float a = x[i] * z[i] + 1;
    y[i] = (a > 0 ? a : 0) * x[i] + (z[i] > 0 ? z[i] : 0);
  }
}
