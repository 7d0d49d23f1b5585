// task: row_max
// expect: FAIL_INCORRECT
// Relies on NaN in what nobody has written.

#include <cmath>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m)
    for (int j = 0; j < m; ++j) y[i] = std::fmax(y[i], x[j]);
}
