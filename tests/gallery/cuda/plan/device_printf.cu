// task: copy
// expect: REJECT_POLICY device_printf
// message: printf in a kernel
#include <cstdio>
__global__ void say(float* y) { printf("%f", *y); }
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  say<<<1, 1>>>(y);
  copy<<<(n * m + 255) / 256, 256>>>(x, y, n * m);
}
