// task: three_point
// expect: FAIL_INCORRECT
// The guards are the padding.

extern "C" void kernel(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = 0.25f * x[i - 2] + 0.5f * x[i] + 0.25f * x[i + 2];
}
