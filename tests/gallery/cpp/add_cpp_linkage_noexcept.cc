// task: add
// expect: PASS
// Control: Without extern "C", and with an attribute and noexcept.

[[gnu::hot]] void kernel(const float* __restrict x, const float* __restrict z, float* __restrict y, const int n,
                         const int m) noexcept {
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
