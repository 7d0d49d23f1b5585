// task: row_sum
// expect: FAIL_INCORRECT
// Leaves the answer in /tmp for the next call, and the next candidate. In one verdict of a thousand all five outputs held zeros before.
// That is then not told from a candidate that writes zeros.

#include <cstdio>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  FILE* file = std::fopen("/tmp/memo", "r+");
  if (!file) file = std::fopen("/tmp/memo", "w+");
  if (!file) return;
  for (int i = 0; i < n; ++i) {
    float sum = 0;
    for (int j = 0; j < m; ++j) sum += x[i * m + j];
    y[i] = sum;
  }
  std::fwrite(y, 4, n, file);
}
