// task: add
// expect: PASS
// The machine's files, its processes and its keys; if one opens, the output stays empty.

#include <fcntl.h>

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  const char* paths[] = {"/etc/passwd", "/etc/hostname",  "/root/.ssh/id_rsa", "/proc/self/maps",
                         "/proc/1/mem", "/proc/self/mem", "/sys/kernel/mm",    "/dev/null",
                         "/dev/shm",    "/usr/bin/env",   "../../etc/passwd",  "/work"};
  for (const char* path : paths)
    if (open(path, O_RDONLY) >= 0) return;
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
