// task: mean_of_positive
// expect: FAIL_INCORRECT
// Some element of a row is positive.

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m) {
    float sum = 0, count = 0;
    for (int j = 0; j < m; ++j)
      if (x[j] > 0) sum += x[j], count += 1;
    y[i] = sum / count;
  }
}
