// task: add
// expect: FAIL_RUNTIME signal_11
// Null pointer.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  *static_cast<volatile int*>(nullptr) = 1;
}
