// task: add
// expect: FAIL_RUNTIME forbidden_call
// A second process does the work.

#include <unistd.h>

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  if (fork() == 0) _exit(0);
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
