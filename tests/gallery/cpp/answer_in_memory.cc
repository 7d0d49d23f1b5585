// task: add
// expect: FAIL_INCORRECT
// Takes what lies behind its own output for the answer.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  float* behind = y + n * m + 64;
  for (int i = 0; i < n * m; ++i) y[i] = behind[i % 32];
}
