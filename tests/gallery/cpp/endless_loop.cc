// task: add
// expect: FAIL_TIMEOUT timeout
// Endless loop.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  for (volatile int i = 0;; ++i) {
  }
}
