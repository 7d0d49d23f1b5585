// task: add
// expect: FAIL_INCORRECT unwritten
// Works for the first milliseconds.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  static unsigned long long start = __builtin_ia32_rdtsc();
  if (__builtin_ia32_rdtsc() - start > 2000000) return;
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
