// task: layer_norm
// expect: PASS
// Control: column by column, sums kept on the stack.

#include <alloca.h>
#include <cmath>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  auto* mean = static_cast<float*>(alloca(size_t(n) * sizeof(float)));
  auto* square = static_cast<float*>(alloca(size_t(n) * sizeof(float)));
  for (int i = 0; i < n; ++i) mean[i] = square[i] = 0;
  for (int j = 0; j < m; ++j)
    for (int i = 0; i < n; ++i) mean[i] += x[i * m + j];
  for (int i = 0; i < n; ++i) mean[i] /= float(m);
  for (int j = 0; j < m; ++j)
    for (int i = 0; i < n; ++i) square[i] += (x[i * m + j] - mean[i]) * (x[i * m + j] - mean[i]);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < m; ++j)
      y[i * m + j] = (x[i * m + j] - mean[i]) / std::sqrt(square[i] / float(m) + 1e-5f);
}
