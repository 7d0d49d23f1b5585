// task: add
// expect: FAIL_RUNTIME forbidden_call
// message: made a forbidden system call
// Fork bomb.

#include <unistd.h>

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  for (;;) fork();
}
