// task: add
// expect: FAIL_COMPILE compile_error
// The first line of a file in an error message.

#include "/etc/hostname"

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
