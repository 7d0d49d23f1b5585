// task: add
// expect: PASS
// Control: reads the sixteen bytes of which the last elements are a part, and uses those alone.

#include <immintrin.h>

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  const long size = 1L * n * m;
  for (long i = 0; i < size; i += 4) {
    float four[4];
    _mm_storeu_ps(four, _mm_add_ps(_mm_load_ps(x + i), _mm_load_ps(z + i)));
    for (long k = 0; k < 4 && i + k < size; ++k) y[i + k] = four[k];
  }
}
