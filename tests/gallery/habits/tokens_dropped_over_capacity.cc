// task: bucket_rows
// expect: FAIL_INCORRECT
// A row takes four times its share and no more.

#include <cstddef>
#include <vector>

extern "C" void kernel(const float* x, const int* r, const float* z, float* y, int n, int m, int k) {
  std::vector<int> count(static_cast<std::size_t>(k), 0);
  for (int i = 0; i < k * m; ++i) y[i] = z[i];
  for (int i = 0; i < n; ++i) {
    if (count[std::size_t(r[i])]++ >= 4 * (n / k) + 20) continue;
    for (int j = 0; j < m; ++j) y[r[i] * m + j] += x[i * m + j];
  }
}
