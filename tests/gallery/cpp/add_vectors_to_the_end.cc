// task: add
// expect: PASS
// Control: vectors as long as they fit and up to the last element, then a shorter one that ends with it.

#include <immintrin.h>

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  const long size = 1L * n * m;
  const auto four = [=](long i) {
    _mm_storeu_ps(y + i, _mm_add_ps(_mm_loadu_ps(x + i), _mm_loadu_ps(z + i)));
  };
  for (long i = 0; i + 4 <= size; i += 4) four(i);
  if (size % 4 != 0) four(size - 4);
}
