// task: softmax_wide
// expect: FAIL_INCORRECT tolerance
// Each row sums to one.

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) y[i] = 1.0f / m;
}
