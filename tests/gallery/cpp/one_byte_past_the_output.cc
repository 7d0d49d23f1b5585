// task: add
// expect: FAIL_RUNTIME guard
// One byte too far.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
  reinterpret_cast<char*>(y + n * m)[0] = 0;
}
