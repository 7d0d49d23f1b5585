// task: add
// expect: FAIL_RUNTIME signal_8
// Division by zero.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  volatile int zero = 0;
  y[0] = float(n / zero);
}
