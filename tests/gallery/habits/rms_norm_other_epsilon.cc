// task: rms_norm
// expect: FAIL_INCORRECT
// A tenth of the epsilon.

#include <cmath>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m, y += m) {
    float squares = 0;
    for (int j = 0; j < m; ++j) squares += x[j] * x[j];
    const float root = std::sqrt(squares / float(m) + 1e-6f);
    for (int j = 0; j < m; ++j) y[j] = x[j] / root;
  }
}
