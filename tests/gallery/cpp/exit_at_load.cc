// task: add
// expect: FAIL_RUNTIME exit
// Leaves before anything was asked.

#include <unistd.h>

__attribute__((constructor)) static void leave() { _exit(0); }

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
