// task: add
// expect: PASS
// Control: Sizes as long and as 64 bits.

#include <cstdint>

extern "C" void kernel(const float* x, const float* z, float* y, long n, std::int64_t m) {
  for (long i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
