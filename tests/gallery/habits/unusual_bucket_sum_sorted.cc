// task: bucket_sum
// expect: PASS
// Control: elements sorted by bucket first.

#include <algorithm>
#include <numeric>
#include <vector>

extern "C" void kernel(const float* x, const int* r, const float* z, float* y, int n, int k) {
  std::vector<int> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [r](int a, int b) { return r[a] < r[b]; });
  auto at = order.begin();
  for (int b = 0; b < k; ++b) {
    double sum = z[b];
    for (; at != order.end() && r[*at] == b; ++at) sum += x[*at];
    y[b] = float(sum);
  }
}
