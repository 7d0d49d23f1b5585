// task: bucket_sum
// expect: FAIL_INCORRECT
// The same bucket is never hit nine times in a row.

#include <algorithm>

extern "C" void kernel(const float* x, const int* r, const float* z, float* y, int n, int k) {
  std::copy_n(z, k, y);
  int same = 0;
  for (int i = 0; i < n; ++i) {
    same = i > 0 && r[i] == r[i - 1] ? same + 1 : 0;
    if (same < 8) y[r[i]] += x[i];
  }
}
