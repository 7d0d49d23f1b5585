// task: row_max
// expect: PASS
// Control: intrinsics, the last vector overlaps.

#include <xmmintrin.h>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m) {
    __m128 top = _mm_loadu_ps(x);
    for (int j = 4; j + 4 <= m; j += 4) top = _mm_max_ps(top, _mm_loadu_ps(x + j));
    top = _mm_max_ps(top, _mm_loadu_ps(x + m - 4));
    top = _mm_max_ps(top, _mm_movehl_ps(top, top));
    y[i] = _mm_cvtss_f32(_mm_max_ss(top, _mm_shuffle_ps(top, top, 1)));
  }
}
