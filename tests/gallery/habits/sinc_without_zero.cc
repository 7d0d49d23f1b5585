// task: sinc
// expect: FAIL_INCORRECT
// No element is zero.

#include <cmath>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) y[i] = std::sin(x[i]) / x[i];
}
