// task: logsumexp
// expect: PASS
// Control: powers of two.

#include <cmath>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m) {
    float top = x[0], sum = 0;
    for (int j = 1; j < m; ++j) top = std::fmax(top, x[j]);
    for (int j = 0; j < m; ++j) sum += std::exp2((x[j] - top) * 1.44269504f);
    y[i] = top + 0.69314718f * std::log2(sum);
  }
}
