// task: add
// expect: FAIL_INCORRECT unwritten
// No tail.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  for (int i = 0; i + 8 <= n * m; i += 8)
    for (int k = 0; k < 8; ++k) y[i + k] = x[i + k] + z[i + k];
}
