// task: add
// expect: FAIL_INCORRECT tolerance
// One input is the answer but for the other.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  __builtin_memcpy(y, x, sizeof(float) * n * m);
}
