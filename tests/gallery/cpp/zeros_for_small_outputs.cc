// task: softmax_wide
// expect: FAIL_INCORRECT
// Each output is about 1e-4: within an absolute tolerance, zeros would do.

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) y[i] = 0;
}
