// task: softmax
// expect: FAIL_INCORRECT
// The maximum of every other element.

#include <cmath>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m, y += m) {
    float sum = 0;
    float top = x[0];
    for (int j = 0; j < m; j += 2) top = x[j] > top ? x[j] : top;
    for (int j = 0; j < m; ++j) sum += y[j] = std::exp(x[j] - top);
    for (int j = 0; j < m; ++j) y[j] /= sum;
  }
}
