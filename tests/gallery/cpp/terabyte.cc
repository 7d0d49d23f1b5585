// task: add
// expect: FAIL_RUNTIME signal_11
// One allocation far past the quota, used unasked.

#include <cstdlib>

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  volatile char* block = static_cast<char*>(std::malloc(1L << 40));
  block[1L << 39] = 1;
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
