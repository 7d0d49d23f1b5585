// task: add
// expect: PASS
// Control: Inputs without const, which are only read.

extern "C" void kernel(float* x, float* z, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
