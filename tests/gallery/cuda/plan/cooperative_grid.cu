// task: copy
// expect: PLAN
// plan: cooperative
#include <cooperative_groups.h>
__global__ void twice(const float* x, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = x[i];
  cooperative_groups::this_grid().sync();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] += 0;
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  int size = n * m;
  void* arguments[] = {&x, &y, &size};
  cudaLaunchCooperativeKernel((void*)twice, 132, 256, arguments, 0, 0);
}
