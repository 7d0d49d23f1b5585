// task: silu
// expect: FAIL_INCORRECT
// Infinity over infinity beyond 88.

#include <cmath>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) {
    const float e = std::exp(x[i]);
    y[i] = x[i] * (e / (1 + e));
  }
}
