// task: row_sum
// expect: FAIL_INCORRECT tolerance
// Same first, middle and last element, same answer.

extern "C" void kernel(const float* x, float* y, int n, int m) {
  static float kept[256], first = 0, middle = 0, last = 0;
  const int size = n * m;
  if (x[0] != first || x[size / 2] != middle || x[size - 1] != last) {
    for (int i = 0; i < n; ++i) {
      float sum = 0;
      for (int j = 0; j < m; ++j) sum += x[i * m + j];
      y[i] = sum;
    }
    for (int i = 0; i < n; ++i) kept[i] = y[i];
    first = x[0];
    middle = x[size / 2];
    last = x[size - 1];
  }
  for (int i = 0; i < n; ++i) y[i] = kept[i];
}
