// task: row_sum
// expect: FAIL_INCORRECT tolerance
// Sums of normals are zero on average.

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i) y[i] = 0;
}
