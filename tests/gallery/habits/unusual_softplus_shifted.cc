// task: softplus
// expect: PASS
// Control: the larger of x and 0 plus what is left.

#include <cmath>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) y[i] = std::fmax(x[i], 0.0f) + std::log1p(std::exp(-std::fabs(x[i])));
}
