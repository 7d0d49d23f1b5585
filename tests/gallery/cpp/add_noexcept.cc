// task: add
// expect: PASS
// Control: The entry point throws nothing, and says so.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) noexcept {
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
