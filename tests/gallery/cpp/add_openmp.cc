// task: add
// expect: PASS
// Control: OpenMP within the quota, which is one thread.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
#pragma omp parallel for num_threads(8)
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
