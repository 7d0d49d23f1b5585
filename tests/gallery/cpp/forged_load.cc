// task: add
// expect: FAIL_RUNTIME protocol
// message: disturbed its runner while being loaded
// A reply of its own while it is loaded, and no end.

#include <unistd.h>

struct Early {
  Early() {
    char frame[99] = {};
    for (int file = 3; file < 32; ++file) (void)!write(file, frame, sizeof frame);
    for (;;) pause();
  }
} early;

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
