// task: add
// expect: FAIL_RUNTIME signal_11
// Writes so far behind the output, the last of its buffers, that no guard is there. Caught by: at some calls there is no
// memory either.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  const long size = 1L * n * m;
  for (long i = 0; i < size; ++i) y[i] = x[i] + z[i];
  y[size + 2000] = 0;
}
