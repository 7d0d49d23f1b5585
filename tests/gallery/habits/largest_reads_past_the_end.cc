// task: largest
// expect: FAIL_INCORRECT
// What lies around the input is as good as zero.

extern "C" void kernel(const float* x, float* y, int n) {
  float top = x[0];
  for (int i = 0; i < n + 3; ++i) top = x[i] > top ? x[i] : top;
  for (int i = n; i < n + 8; ++i) top = x[i] > top ? x[i] : top;
  y[0] = top;
}
