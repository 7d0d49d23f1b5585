// task: embedding
// expect: PASS
// Control: a row asked for twice in turn is copied from the output.

#include <cstring>

extern "C" void kernel(const float* x, const int* r, float* y, int n, int m, int p) {
  (void)p;
  for (int i = 0; i < n; ++i) {
    const bool same = i > 0 && r[i] == r[i - 1];
    std::memcpy(y + i * m, same ? y + (i - 1) * m : x + r[i] * m, size_t(m) * sizeof(float));
  }
}
