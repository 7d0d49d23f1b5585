// task: add
// expect: FAIL_COMPILE
// Constexpr bomb.

constexpr long spin() {
  long sum = 0;
  for (long i = 0; i < 1L << 60; ++i) sum += i;
  return sum;
}

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  constexpr long value = spin();
  y[0] = value;
}
