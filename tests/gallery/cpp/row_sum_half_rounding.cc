// task: row_sum
// expect: FAIL_INCORRECT tolerance
// Inputs rounded to bfloat16: faster on some machines, and not what was asked.

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i) {
    float sum = 0;
    for (int j = 0; j < m; ++j) {
      unsigned bits;
      __builtin_memcpy(&bits, &x[i * m + j], 4);
      bits &= 0xFFFF0000u;
      float rounded;
      __builtin_memcpy(&rounded, &bits, 4);
      sum += rounded;
    }
    y[i] = sum;
  }
}
