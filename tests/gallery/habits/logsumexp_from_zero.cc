// task: logsumexp
// expect: FAIL_INCORRECT
// The maximum is at least zero.

#include <cmath>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m) {
    float top = 0, sum = 0;
    for (int j = 0; j < m; ++j) top = x[j] > top ? x[j] : top;
    for (int j = 0; j < m; ++j) sum += std::exp(x[j] - top);
    y[i] = top + std::log(sum);
  }
}
