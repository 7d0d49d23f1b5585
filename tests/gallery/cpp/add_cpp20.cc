// task: add
// expect: PASS
// Control: what came with C++20, around the entry point and in it.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>

template <std::floating_point T>
void add(std::span<const T> x, std::span<const T> z, std::span<T> y) {
  std::ranges::transform(x, z, y.begin(), [](T a, T b) { return a + b; });
}

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  if (n <= 0 || m <= 0) [[unlikely]]
    return;
  const auto count = static_cast<std::size_t>(n) * static_cast<std::size_t>(m);
  add(std::span(x, count), std::span(z, count), std::span(y, count));
}
