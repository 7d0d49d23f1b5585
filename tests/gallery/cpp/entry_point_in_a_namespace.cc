// task: add
// expect: FAIL_COMPILE|FAIL_PARSE
// Another function of that name.

namespace mine {
void kernel(const float* x, const float* z, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
}  // namespace mine
