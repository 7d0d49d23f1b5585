// task: softmax
// expect: FAIL_INCORRECT
// The first row's maximum serves all rows.

#include <cmath>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m, y += m) {
    float sum = 0;
    static thread_local float top;
    if (i == 0) {
      top = x[0];
      for (int j = 1; j < m; ++j) top = x[j] > top ? x[j] : top;
    }
    for (int j = 0; j < m; ++j) sum += y[j] = std::exp(x[j] - top);
    for (int j = 0; j < m; ++j) y[j] /= sum;
  }
}
