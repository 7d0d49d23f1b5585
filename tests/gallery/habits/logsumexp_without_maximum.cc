// task: logsumexp
// expect: FAIL_INCORRECT
// No maximum is taken off.

#include <cmath>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m) {
    float sum = 0;
    for (int j = 0; j < m; ++j) sum += std::exp(x[j]);
    y[i] = std::log(sum);
  }
}
