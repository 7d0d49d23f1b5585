// task: add
// expect: PASS
// Control: Sizes as size_t.

#include <cstddef>

extern "C" void kernel(const float* x, const float* z, float* y, std::size_t n, size_t m) {
  for (std::size_t i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
