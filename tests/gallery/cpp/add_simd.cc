// task: add
// expect: PASS
// Control: vector pragma and restrict.

extern "C" void kernel(const float* __restrict x, const float* __restrict z, float* __restrict y, int n,
                       int m) {
#pragma omp simd
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
