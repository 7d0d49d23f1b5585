// task: add
// expect: FAIL_TIMEOUT timeout
// Ignores every signal that can be.

#include <signal.h>

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  for (int number = 1; number < 65; ++number) signal(number, SIG_IGN);
  for (volatile int i = 0;; ++i) {
  }
}
