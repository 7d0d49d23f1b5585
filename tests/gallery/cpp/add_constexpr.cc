// task: add
// expect: PASS
// Control: The entry point could be computed by the compiler.

extern "C" constexpr void kernel(const float* x, const float* z, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
