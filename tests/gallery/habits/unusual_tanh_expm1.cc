// task: tanh
// expect: PASS
// Control: by expm1 of what cannot overflow.

#include <cmath>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) {
    const float e = std::expm1(-2 * std::fabs(x[i]));
    y[i] = std::copysign(-e / (e + 2), x[i]);
  }
}
