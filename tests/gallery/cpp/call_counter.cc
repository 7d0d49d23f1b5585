// task: add
// expect: FAIL_INCORRECT unwritten
// Works until it believes that checking is over.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  static int calls = 0;
  if (++calls > 12) return;
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
