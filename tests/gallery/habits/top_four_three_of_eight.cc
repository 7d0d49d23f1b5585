// task: top_four
// expect: FAIL_INCORRECT
// Three are kept of each chunk of eight: four of the largest seldom lie in one.

#include <algorithm>
#include <vector>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  std::vector<float> kept;
  for (int i = 0; i < n; ++i, x += m, y += 4) {
    kept.clear();
    for (int begin = 0; begin < m; begin += 8) {
      float chunk[8];
      const int count = std::min(8, m - begin);
      std::copy_n(x + begin, count, chunk);
      const int keep = std::min(3, count);
      std::partial_sort(chunk, chunk + keep, chunk + count, std::greater<float>());
      kept.insert(kept.end(), chunk, chunk + keep);
    }
    std::partial_sort_copy(kept.begin(), kept.end(), y, y + 4, std::greater<float>());
  }
}
