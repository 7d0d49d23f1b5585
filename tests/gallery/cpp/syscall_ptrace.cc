// task: add
// expect: FAIL_RUNTIME forbidden_call
// Syscall ptrace.

#include <sys/syscall.h>
#include <unistd.h>

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  syscall(SYS_ptrace, 0, 0, 0, 0);
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
