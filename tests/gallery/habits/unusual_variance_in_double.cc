// task: variance
// expect: PASS
// Control: one pass in double precision.

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m) {
    double sum = 0, squares = 0;
    for (int j = 0; j < m; ++j) sum += x[j], squares += double(x[j]) * x[j];
    y[i] = float((squares - sum * sum / m) / m);
  }
}
