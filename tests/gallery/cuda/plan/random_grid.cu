// task: copy
// expect: REJECT_POLICY changing_plan
// Now and then a smaller grid. Caught by: two calls make two plans.
#include <x86intrin.h>
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  copy<<<1 + (__rdtsc() >> 4) % 100000, 256>>>(x, y, n * m);
}
