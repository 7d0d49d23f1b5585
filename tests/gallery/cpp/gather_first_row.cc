// task: gather_rows
// expect: FAIL_INCORRECT tolerance
// The indices are not read.

extern "C" void kernel(const float* x, const int* idx, float* y, int n, int m, int k) {
  for (int i = 0; i < k; ++i)
    for (int j = 0; j < m; ++j) y[i * m + j] = x[j];
}
