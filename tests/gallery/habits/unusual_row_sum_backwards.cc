// task: row_sum
// expect: PASS
// Control: from the last element, one sum.

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = n - 1; i >= 0; --i) {
    float sum = 0;
    for (int j = m - 1; j >= 0; --j) sum += x[i * m + j];
    y[i] = sum;
  }
}
