// task: copy
// expect: FAIL_RUNTIME signal_6
#include <cstdlib>
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) { abort(); }
