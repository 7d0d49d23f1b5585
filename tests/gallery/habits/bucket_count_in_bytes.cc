// task: bucket_count
// expect: FAIL_INCORRECT
// No bucket has more than 255 elements.

#include <cstddef>
#include <cstdint>
#include <vector>

extern "C" void kernel(const int* r, const float* z, float* y, int n, int k) {
  std::vector<uint8_t> count(static_cast<std::size_t>(k), 0);
  for (int i = 0; i < n; ++i) ++count[std::size_t(r[i])];
  for (int b = 0; b < k; ++b) y[b] = z[b] + float(count[std::size_t(b)]);
}
