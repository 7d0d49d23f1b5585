// task: softmax
// expect: FAIL_INCORRECT
// Nothing is larger than 16.

#include <cmath>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m, y += m) {
    float sum = 0;
    for (int j = 0; j < m; ++j) sum += y[j] = std::exp(std::fmin(x[j], 16.0f));
    for (int j = 0; j < m; ++j) y[j] /= sum;
  }
}
