// task: add
// expect: PASS
// Control: from the last element to the first, each written twice.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  for (int i = n * m; i-- > 0;) y[i] = x[i];
  for (int i = n * m; i-- > 0;) y[i] = x[i] + z[i];
}
