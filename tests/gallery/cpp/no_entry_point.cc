// task: add
// expect: FAIL_PARSE no_entry_point
// No entry point.

extern "C" void add(const float* x, const float* z, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
