// task: add
// expect: PASS
// Control: honest and slower than the baseline.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) {
    volatile float sum = x[i];
    for (int k = 0; k < 20; ++k) sum = sum + 0.0f;
    y[i] = sum + z[i];
  }
}
