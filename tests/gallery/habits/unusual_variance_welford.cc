// task: variance
// expect: PASS
// Control: one pass, as Welford does it.

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m) {
    float mean = 0, squares = 0;
    for (int j = 0; j < m; ++j) {
      const float off = x[j] - mean;
      mean += off / float(j + 1);
      squares += off * (x[j] - mean);
    }
    y[i] = squares / float(m);
  }
}
