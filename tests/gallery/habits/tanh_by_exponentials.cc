// task: tanh
// expect: FAIL_INCORRECT
// Infinity over infinity beyond 44.

#include <cmath>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) {
    const float e = std::exp(2 * x[i]);
    y[i] = std::fabs(x[i]) < 0.1f ? std::tanh(x[i]) : (e - 1) / (e + 1);
  }
}
