// task: argmax
// expect: PASS
// Control: from the last column, by a lambda.

extern "C" void kernel(const float* x, int* y, int n, int m) {
  const auto best_of = [m](const float* row) {
    int at = m - 1;
    for (int j = m - 1; j-- > 0;)
      if (!(row[j] < row[at])) at = j;
    return at;
  };
  for (int i = n; i-- > 0;) y[i] = best_of(x + i * m);
}
