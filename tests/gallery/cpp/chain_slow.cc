// task: chain
// expect: PASS
// Control: honest, four times the work.

#pragma GCC optimize("O1")

static void work(const float* x, const float* z, float* y, int n, int m) {
  for (int pass = 0; pass < 4; ++pass) {
    for (int i = 0; i < n * m; ++i) {
      const float a = x[i] * z[i] + 1;
      y[i] = (a > 0 ? a : 0) * x[i] + (z[i] > 0 ? z[i] : 0);
    }
    asm volatile("" ::: "memory");
  }
}

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) { work(x, z, y, n, m); }
