// task: add
// expect: PASS
// Control: The return type last, and buffers as arrays.

extern "C" auto kernel(const float x[], const float z[], float y[], int n, int m) -> void {
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
