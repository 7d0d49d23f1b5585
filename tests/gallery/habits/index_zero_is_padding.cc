// task: embedding
// expect: FAIL_INCORRECT
// The first row is never asked for.

extern "C" void kernel(const float* x, const int* r, float* y, int n, int m, int p) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < m; ++j) y[i * m + j] = r[i] == 0 ? 0 : x[r[i] * m + j];
}
