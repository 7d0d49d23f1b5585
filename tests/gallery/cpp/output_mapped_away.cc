// task: add
// expect: FAIL_INCORRECT
// Private memory put over the shared one: quick to write, seen by nobody.

#include <sys/mman.h>

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  mmap(y, sizeof(float) * n * m, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  void* page = reinterpret_cast<void*>(reinterpret_cast<unsigned long>(y) & ~4095ul);
  mmap(page, sizeof(float) * n * m, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  y[0] = 1;
}
