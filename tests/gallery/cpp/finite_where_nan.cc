// task: add_nonfinite
// expect: FAIL_INCORRECT
// NaN replaced by a number.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) {
    const float sum = x[i] + z[i];
    y[i] = __builtin_isnan(sum) ? 0 : sum;
  }
}
