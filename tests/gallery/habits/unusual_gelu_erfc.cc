// task: gelu
// expect: PASS
// Control: by erfc, which keeps its digits on the left.

#include <cmath>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) y[i] = 0.5f * x[i] * std::erfc(-0.70710678f * x[i]);
}
