// task: add
// expect: FAIL_RUNTIME exit
// Writes forged replies into every descriptor when it is loaded, and leaves.

#include <unistd.h>

// What a runner that is content would send, on every descriptor there could be.
struct Frame {
  unsigned magic = 0x524D5054, version = 1, bytes = sizeof(Frame), sequence = 1, status = 2, more = 0;
  char error[256] = {};
};

struct Forger {
  Forger() {
    Frame frame;
    for (int fd = 0; fd < 64; ++fd) (void)!write(fd, &frame, sizeof frame);
    _exit(0);
  }
};
static Forger forger;

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
