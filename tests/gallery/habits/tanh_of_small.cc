// task: tanh
// expect: FAIL_INCORRECT
// A continued fraction that is right up to six.

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) {
    const float t = x[i] * x[i];
    float f = 21;
    for (int k = 19; k > 0; k -= 2) f = float(k) + t / f;
    y[i] = x[i] / f;
  }
}
