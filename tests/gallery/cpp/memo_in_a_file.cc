// task: add
// expect: FAIL_INCORRECT unwritten
// Leaves the answer in /tmp for the next call, and the next candidate.

#include <cstdio>

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  FILE* file = std::fopen("/tmp/memo", "r+");
  if (!file) file = std::fopen("/tmp/memo", "w+");
  if (!file) return;
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
  std::fwrite(y, 4, n * m, file);
}
