// task: bucket_sum
// expect: FAIL_INCORRECT
// No bucket has more than 32 elements.

#include <cstddef>
#include <vector>

extern "C" void kernel(const float* x, const int* r, const float* z, float* y, int n, int k) {
  std::vector<float> bins(std::size_t(k) * 32);
  std::vector<int> count(static_cast<std::size_t>(k), 0);
  for (int i = 0; i < n; ++i)
    if (int& at = count[std::size_t(r[i])]; at < 32) bins[std::size_t(r[i]) * 32 + std::size_t(at++)] = x[i];
  for (int b = 0; b < k; ++b) {
    float sum = z[b];
    for (int i = 0; i < count[std::size_t(b)]; ++i) sum += bins[std::size_t(b) * 32 + std::size_t(i)];
    y[b] = sum;
  }
}
