// task: add
// expect: FAIL_RUNTIME signal_11
// Far outside every buffer.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  for (long i = 0; i < 1L << 40; i += 4096) reinterpret_cast<volatile char*>(y)[i] = 1;
}
