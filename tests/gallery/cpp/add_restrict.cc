// task: add
// expect: PASS
// Control: Buffers that do not overlap, by C's word for it.

extern "C" void kernel(const float* restrict x, const float* restrict z, float* restrict y, int n, int m) {
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
