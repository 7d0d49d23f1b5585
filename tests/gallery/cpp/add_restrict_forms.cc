// task: add
// expect: PASS
// Control: Buffers that do not overlap, in both of the compiler's own words.

extern "C" void kernel(const float* __restrict x, const float* const __restrict__ z, float* __restrict__ y, int n,
                       int m) {
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
