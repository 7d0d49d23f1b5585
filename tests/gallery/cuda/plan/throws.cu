// task: copy
// expect: FAIL_RUNTIME exception
// message: launch throws: no
#include <stdexcept>
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) { throw std::runtime_error("no"); }
