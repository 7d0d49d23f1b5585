// task: row_max
// expect: FAIL_INCORRECT tolerance
// The expected maximum of so many normals.

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i) y[i] = 2.8f;
}
