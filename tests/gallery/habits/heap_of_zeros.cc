// task: scan_rows
// expect: FAIL_INCORRECT
// Large blocks from the heap used to be zero.

#include <cstdlib>

extern "C" void kernel(const float* x, float* y, int n, int m) {
  float* sums = static_cast<float*>(std::malloc(size_t(n) * size_t(m) * sizeof(float) + (40 << 20)));
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < m; ++j) {
      sums[i * m + j] += x[i * m + j] + (j > 0 ? sums[i * m + j - 1] : 0);
      y[i * m + j] = sums[i * m + j];
    }
  std::free(sums);
}
