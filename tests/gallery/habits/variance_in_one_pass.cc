// task: variance
// expect: FAIL_INCORRECT
// The mean of squares less the square of the mean.

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m) {
    float sum = 0, squares = 0;
    for (int j = 0; j < m; ++j) sum += x[j], squares += x[j] * x[j];
    y[i] = squares / float(m) - sum / float(m) * (sum / float(m));
  }
}
