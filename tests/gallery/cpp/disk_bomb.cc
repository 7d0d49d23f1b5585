// task: add
// expect: PASS
// Files in every folder it can think of. Denied, and no harm to its own work.

#include <fcntl.h>
#include <unistd.h>

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  const char* paths[] = {"/tmp/a", "/a", "/dev/shm/a", "/work/a", "a"};
  for (const char* path : paths) {
    const int file = open(path, O_CREAT | O_WRONLY, 0600);
    static char block[1 << 20];
    for (int i = 0; file >= 0 && i < 100000; ++i) (void)!write(file, block, sizeof block);
  }
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
