// task: add
// expect: FAIL_RUNTIME forbidden_call
// A thread without the library.

#include <sys/syscall.h>
#include <unistd.h>

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  syscall(SYS_clone, 0x10F00, nullptr, nullptr, nullptr, nullptr);
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
