// task: add
// expect: PASS
// Control: a heap buffer, filled, changed in place and copied out.

#include <algorithm>
#include <vector>

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  std::vector<float> sums(x, x + n * m);
  for (int i = 0; i < n * m; ++i) sums[i] += z[i];
  std::copy(sums.begin(), sums.end(), y);
}
