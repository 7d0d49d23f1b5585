// task: bucket_rows
// expect: PASS
// Control: a list for each bucket.

#include <cstddef>
#include <forward_list>
#include <vector>

extern "C" void kernel(const float* x, const int* r, const float* z, float* y, int n, int m, int k) {
  std::vector<std::forward_list<const float*>> rows(static_cast<std::size_t>(k));
  for (int i = 0; i < n; ++i) rows[std::size_t(r[i])].push_front(x + i * m);
  for (int b = 0; b < k; ++b)
    for (int j = 0; j < m; ++j) {
      float sum = z[b * m + j];
      for (const float* row : rows[std::size_t(b)]) sum += row[j];
      y[b * m + j] = sum;
    }
}
