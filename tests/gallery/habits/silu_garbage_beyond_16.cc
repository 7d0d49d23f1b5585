// task: silu
// expect: FAIL_INCORRECT
// Nothing lies beyond 16.

#include <cmath>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) y[i] = std::fabs(x[i]) > 16 ? 123 : x[i] / (1 + std::exp(-x[i]));
}
