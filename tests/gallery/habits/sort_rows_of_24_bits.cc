// task: sort_rows
// expect: FAIL_INCORRECT
// Sorts fixed-point numbers of the known range.

#include <algorithm>
#include <vector>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  std::vector<int> keys(static_cast<size_t>(m));
  for (int i = 0; i < n; ++i, x += m, y += m) {
    for (int j = 0; j < m; ++j) keys[size_t(j)] = int(std::clamp(x[j], -1.0f, 1.0f) * 16777216.0f);
    std::sort(keys.begin(), keys.end());
    for (int j = 0; j < m; ++j) y[j] = float(keys[size_t(j)]) / 16777216.0f;
  }
}
