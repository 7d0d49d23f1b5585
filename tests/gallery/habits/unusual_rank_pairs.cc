// task: rank_all
// expect: PASS
// Control: std::sort of pairs.

#include <algorithm>
#include <utility>
#include <vector>

extern "C" void kernel(const float* x, int* y, int n) {
  std::vector<std::pair<float, int>> pairs;
  for (int i = 0; i < n; ++i) pairs.emplace_back(x[i], i);
  std::sort(pairs.begin(), pairs.end());
  for (int i = 0; i < n; ++i) y[i] = pairs[size_t(i)].second;
}
