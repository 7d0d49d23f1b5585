// task: copy
// expect: REJECT_POLICY device_assert
// An assertion on the device, with NDEBUG taken away. Caught by: the function that it calls is not there.
#undef NDEBUG
#include <cassert>
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
__global__ void check(const float* x) { assert(x[0] > 0); }
extern "C" void launch(const float* x, float* y, int n, int m) { check<<<1, 1>>>(x); }
