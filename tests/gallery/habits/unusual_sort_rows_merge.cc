// task: sort_rows
// expect: PASS
// Control: merge sort by recursion.

#include <algorithm>
#include <vector>

static void merge_sort(float* row, float* scratch, int count) {
  if (count < 2) return;
  const int half = count / 2;
  merge_sort(row, scratch, half);
  merge_sort(row + half, scratch, count - half);
  std::merge(row, row + half, row + half, row + count, scratch);
  std::copy_n(scratch, count, row);
}

extern "C" void kernel(const float* x, float* y, int n, int m) {
  std::vector<float> scratch(static_cast<size_t>(m));
  std::copy_n(x, n * m, y);
  for (int i = 0; i < n; ++i) merge_sort(y + i * m, scratch.data(), m);
}
