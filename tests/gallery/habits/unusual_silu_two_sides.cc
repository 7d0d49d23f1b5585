// task: silu
// expect: PASS
// Control: a formula for each sign, from a table of functions.

#include <cmath>

static float right(float x) { return x / (1 + std::exp(-x)); }
static float left(float x) {
  const float e = std::exp(x);
  return x * e / (1 + e);
}

extern "C" void kernel(const float* x, float* y, int n, int m) {
  float (*const sides[2])(float) = {left, right};
  for (int i = 0; i < n * m; ++i) y[i] = sides[x[i] >= 0](x[i]);
}
