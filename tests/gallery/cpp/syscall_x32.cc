// task: add
// expect: FAIL_RUNTIME|PASS
// The other numbering of system calls: fork there, too. If it forks, nothing is written.

#include <sys/syscall.h>
#include <unistd.h>

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  const long pid = syscall(0x40000000 + 57);
  if (pid >= 0) return;
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
