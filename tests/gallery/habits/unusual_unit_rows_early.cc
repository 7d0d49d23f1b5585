// task: unit_rows
// expect: PASS
// Control: rows of zeros are left at once.

#include <cmath>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m, y += m) {
    float squares = 0;
    for (int j = 0; j < m; ++j) squares += x[j] * x[j];
    if (squares == 0) {
      for (int j = 0; j < m; ++j) y[j] = 0;
      continue;
    }
    const float norm = std::sqrt(squares);
    for (int j = 0; j < m; ++j) y[j] = x[j] / (norm < 1e-6f ? 1e-6f : norm);
  }
}
