// task: sinc
// expect: PASS
// Control: a series near zero.

#include <cmath>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i)
    y[i] = std::fabs(x[i]) < 1e-3f ? 1 - x[i] * x[i] / 6 : std::sin(x[i]) / x[i];
}
