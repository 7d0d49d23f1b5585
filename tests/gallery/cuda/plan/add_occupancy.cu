// task: add
// expect: PLAN
// plan: _Z3addPKfS0_Pfi grid 64 block 1024
#include <algorithm>
__global__ void __launch_bounds__(1024) add(const float* x, const float* z, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = x[i] + z[i];
}
extern "C" void launch(const float* x, const float* z, float* y, int n, int m) {
  int least = 0, block = 0, device = 0, per = 0;
  cudaOccupancyMaxPotentialBlockSize(&least, &block, add, 0, 0);
  cudaGetDevice(&device);
  cudaDeviceProp properties;
  cudaGetDeviceProperties(&properties, device);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per, add, block, 0);
  if (least != per * properties.multiProcessorCount) return;
  add<<<std::min((n * m + block - 1) / block, least), block>>>(x, z, y, n * m);
  if (cudaGetLastError() != cudaSuccess) return;
  cudaDeviceSynchronize();
}
