// task: rank_all
// expect: FAIL_INCORRECT
// Each distinct element used to have a cell of the range to itself.

#include <algorithm>

extern "C" void kernel(const float* x, int* y, int n) {
  for (int i = 0; i < n; ++i) y[std::clamp(int((double(x[i]) + 1) / 2 * n), 0, n - 1)] = i;
}
