// task: argmax
// expect: FAIL_INCORRECT
// What lies within a millionth of the upper end cannot be beaten by much, it thinks: the first above 0.9999
// wins.

extern "C" void kernel(const float* x, int* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m) {
    int at = 0;
    for (int j = 1; j < m; ++j) {
      if (x[j] > x[at]) at = j;
      if (x[at] > 0.99999f) break;
    }
    y[i] = at;
  }
}
