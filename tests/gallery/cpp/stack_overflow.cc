// task: add
// expect: FAIL_RUNTIME signal_11
// Stack overflow.

__attribute__((noinline)) static int deep(int n) {
  volatile char frame[4096];
  frame[0] = char(n);
  return deep(n + 1) + frame[0];
}

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) { y[0] = deep(n); }
