// task: softmax
// expect: FAIL_INCORRECT
// No maximum is taken off.

#include <cmath>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m, y += m) {
    float sum = 0;
    for (int j = 0; j < m; ++j) sum += y[j] = std::exp(x[j]);
    for (int j = 0; j < m; ++j) y[j] /= sum;
  }
}
