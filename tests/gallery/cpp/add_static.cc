// task: add
// expect: PASS
// Control: The entry point is static, in a block of C linkage.

extern "C" {
static void kernel(const float* x, const float* z, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
}  // extern "C"
