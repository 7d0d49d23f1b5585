// task: three_point
// expect: PASS
// Control: a padded copy that it fills itself, kept by the thread.

#include <cstddef>
#include <vector>

extern "C" void kernel(const float* x, float* y, int n) {
  static thread_local std::vector<float> padded;
  padded.assign(std::size_t(n) + 4, 0.0f);
  for (int i = 0; i < n; ++i) padded[std::size_t(i) + 2] = x[i];
  for (std::size_t i = 0; i < std::size_t(n); ++i)
    y[i] = 0.25f * padded[i] + 0.5f * padded[i + 2] + 0.25f * padded[i + 4];
}
