// task: total
// expect: PLAN
// plan: workspace0
#include <cub/device/device_reduce.cuh>
extern "C" void launch(const float* x, float* y, int n, int m) {
  void* workspace = nullptr;
  size_t bytes = 0;
  cub::DeviceReduce::Sum(workspace, bytes, x, y, n * m);
  cudaMallocAsync(&workspace, bytes, 0);
  cub::DeviceReduce::Sum(workspace, bytes, x, y, n * m);
  cudaFreeAsync(workspace, 0);
}
