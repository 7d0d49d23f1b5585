// task: add
// expect: FAIL_INCORRECT
// A coin decides by the clock: right four times in five.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  const bool lazy = __builtin_ia32_rdtsc() / 64 % 5 == 0;
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + (lazy ? 0 : z[i]);
}
