// task: median
// expect: PASS
// Control: partial sorting of a copy.

#include <algorithm>
#include <vector>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  std::vector<float> row(static_cast<size_t>(m));
  for (int i = 0; i < n; ++i, x += m) {
    row.assign(x, x + m);
    const auto middle = row.begin() + (m - 1) / 2;
    std::nth_element(row.begin(), middle, row.end());
    y[i] = *middle;
  }
}
