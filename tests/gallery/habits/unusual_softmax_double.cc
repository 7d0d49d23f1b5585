// task: softmax
// expect: PASS
// Control: in double precision, without the maximum where that cannot overflow.

#include <cmath>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m, y += m) {
    double top = x[0], sum = 0;
    for (int j = 1; j < m; ++j) top = std::fmax(top, double(x[j]));
    const double shift = std::fabs(top) < 100 ? 0 : top;
    for (int j = 0; j < m; ++j) sum += std::exp(x[j] - shift);
    for (int j = 0; j < m; ++j) y[j] = float(std::exp(x[j] - shift) / sum);
  }
}
