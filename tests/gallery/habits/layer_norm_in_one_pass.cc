// task: layer_norm
// expect: FAIL_INCORRECT
// The mean of squares less the square of the mean.

#include <cmath>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m, y += m) {
    float sum = 0, squares = 0;
    for (int j = 0; j < m; ++j) sum += x[j], squares += x[j] * x[j];
    const float mean = sum / float(m),
                scale = 1 / std::sqrt(std::fmax(squares / float(m) - mean * mean, 0.0f) + 1e-5f);
    for (int j = 0; j < m; ++j) y[j] = (x[j] - mean) * scale;
  }
}
