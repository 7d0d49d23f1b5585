// task: top_four
// expect: PASS
// Control: a heap of four.

#include <algorithm>
#include <functional>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m, y += 4) {
    std::copy_n(x, 4, y);
    std::make_heap(y, y + 4, std::greater<>());
    for (int j = 4; j < m; ++j) {
      if (x[j] <= y[0]) continue;
      std::pop_heap(y, y + 4, std::greater<>());
      y[3] = x[j];
      std::push_heap(y, y + 4, std::greater<>());
    }
    std::sort_heap(y, y + 4, std::greater<>());
  }
}
