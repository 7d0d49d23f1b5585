// task: add
// expect: PASS
// Control: the entry point is a template by its word auto.

#include <concepts>

void kernel(const auto* x, const auto* z, auto* y, std::integral auto n, auto m) {
  for (decltype(n) i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
