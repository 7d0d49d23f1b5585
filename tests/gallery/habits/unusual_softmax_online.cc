// task: softmax
// expect: PASS
// Control: maximum and sum in one pass.

#include <cmath>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m, y += m) {
    float top = -INFINITY, sum = 0;
    for (int j = 0; j < m; ++j) {
      const float higher = std::fmax(top, x[j]);
      sum = sum * std::exp(top - higher) + std::exp(x[j] - higher);
      top = higher;
    }
    for (int j = 0; j < m; ++j) y[j] = std::exp(x[j] - top) / sum;
  }
}
