// task: sort_rows
// expect: FAIL_INCORRECT
// 64 bins over the known range, 32 places in each.

#include <algorithm>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  static thread_local float bin[64][32];
  for (int i = 0; i < n; ++i, x += m, y += m) {
    int count[64] = {};
    for (int j = 0; j < m; ++j) {
      const int at = std::clamp(int((x[j] + 1) * 32), 0, 63);
      if (count[at] < 32) bin[at][count[at]++] = x[j];
    }
    float* out = y;
    for (int at = 0; at < 64; ++at) {
      std::sort(bin[at], bin[at] + count[at]);
      out = std::copy_n(bin[at], count[at], out);
    }
  }
}
