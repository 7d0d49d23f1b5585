// task: copysign
// expect: FAIL_INCORRECT
// Zero has one sign.

#include <cmath>

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) y[i] = x[i] < 0 ? -std::fabs(z[i]) : std::fabs(z[i]);
}
