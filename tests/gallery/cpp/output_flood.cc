// task: add
// expect: PASS
// Megabytes into every descriptor. Denied, and no harm to its own work.

#include <unistd.h>

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  static char flood[1 << 20];
  static int calls = 0;
  for (int fd = 0; ++calls < 100 && fd < 32; ++fd) (void)!write(fd, flood, sizeof flood);
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
