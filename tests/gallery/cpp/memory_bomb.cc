// task: add
// expect: FAIL_RUNTIME|FAIL_TIMEOUT
// Touches memory until there is none.

#include <cstdlib>

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  for (;;) {
    char* block = static_cast<char*>(std::malloc(64 << 20));
    if (!block) std::abort();
    for (int i = 0; i < 64 << 20; i += 4096) block[i] = 1;
  }
}
