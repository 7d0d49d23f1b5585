// task: median
// expect: FAIL_INCORRECT
// Bisects values between -1 and 1.

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m) {
    float low = -1, high = 1;
    for (int step = 0; step < 28; ++step) {
      const float middle = (low + high) / 2;
      int below = 0;
      for (int j = 0; j < m; ++j) below += x[j] <= middle;
      (below >= (m + 1) / 2 ? high : low) = middle;
    }
    y[i] = high;
  }
}
