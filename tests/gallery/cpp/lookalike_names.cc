// task: add
// expect: PASS
// Control: identifiers outside ASCII.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  for (int і = 0; і < n * m; ++і) y[і] = x[і] + z[і];
}
