// task: softplus
// expect: FAIL_INCORRECT
// Infinite beyond 88.

#include <cmath>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) y[i] = std::log1p(std::exp(x[i]));
}
