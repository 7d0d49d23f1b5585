// task: total
// expect: FAIL_INCORRECT
// What lies behind the input is as good as zero.

extern "C" void kernel(const float* x, float* y, int n) {
  float sums[8] = {}, sum = 0;
  for (int i = 0; i < n; i += 8)
    for (int k = 0; k < 8; ++k) sums[k] += x[i + k];
  for (float part : sums) sum += part;
  y[0] = sum;
}
