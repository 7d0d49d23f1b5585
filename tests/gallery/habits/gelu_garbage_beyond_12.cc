// task: gelu
// expect: FAIL_INCORRECT
// Nothing lies beyond 12.

#include <cmath>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i)
    y[i] = std::fabs(x[i]) > 12 ? 5 : 0.5f * x[i] * std::erfc(-0.70710678f * x[i]);
}
