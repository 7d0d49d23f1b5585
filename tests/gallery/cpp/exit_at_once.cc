// task: add
// expect: FAIL_RUNTIME exit
// A good exit status proves nothing.

#include <unistd.h>

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) { _exit(0); }
