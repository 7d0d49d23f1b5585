// task: add
// expect: PASS
// Control: intrinsics and a tail.

#include <immintrin.h>

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  int i = 0;
  for (; i + 4 <= n * m; i += 4) _mm_storeu_ps(y + i, _mm_add_ps(_mm_loadu_ps(x + i), _mm_loadu_ps(z + i)));
  for (; i < n * m; ++i) y[i] = x[i] + z[i];
}
