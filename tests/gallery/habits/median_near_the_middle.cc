// task: median
// expect: FAIL_INCORRECT
// Sorts only what lies in the middle half of the known range.

#include <algorithm>
#include <vector>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  std::vector<float> near;
  for (int i = 0; i < n; ++i, x += m) {
    near.clear();
    int below = 0;
    for (int j = 0; j < m; ++j) {
      below += x[j] < -0.5f;
      if (x[j] >= -0.5f && x[j] <= 0.5f) near.push_back(x[j]);
    }
    const int at = std::clamp((m - 1) / 2 - below, 0, int(near.size()) - 1);
    std::nth_element(near.begin(), near.begin() + at, near.end());
    y[i] = near.empty() ? 0 : near[size_t(at)];
  }
}
