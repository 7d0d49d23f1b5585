// task: top_four
// expect: FAIL_INCORRECT
// Only what lies in the upper quarter of the known range is looked at.

#include <algorithm>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m, y += 4) {
    float best[4] = {0.5f, 0.5f, 0.5f, 0.5f};
    for (int j = 0; j < m; ++j) {
      if (x[j] <= best[3]) continue;
      best[3] = x[j];
      for (int k = 3; k > 0 && best[k] > best[k - 1]; --k) std::swap(best[k], best[k - 1]);
    }
    for (int k = 0; k < 4; ++k) y[k] = best[k];
  }
}
