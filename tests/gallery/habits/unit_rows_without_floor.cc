// task: unit_rows
// expect: FAIL_INCORRECT
// No row is zero.

#include <cmath>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m, y += m) {
    float squares = 0;
    for (int j = 0; j < m; ++j) squares += x[j] * x[j];
    const float scale = 1 / std::sqrt(squares);
    for (int j = 0; j < m; ++j) y[j] = x[j] * scale;
  }
}
