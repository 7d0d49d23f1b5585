// task: rms_norm
// expect: PASS
// Control: sixteen sums at a time, from a template.

#include <cmath>

template <int kWidth>
static float squares(const float* row, int m) {
  float sums[kWidth] = {}, sum = 0;
  for (int j = 0; j < m; ++j) sums[j % kWidth] += row[j] * row[j];
  for (float part : sums) sum += part;
  return sum;
}

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m, y += m) {
    const float scale = 1 / std::sqrt(squares<16>(x, m) / float(m) + 1e-5f);
    for (int j = 0; j < m; ++j) y[j] = x[j] * scale;
  }
}
