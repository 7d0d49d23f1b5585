// task: copy
// expect: PLAN
// plan: grid 256 block 128 cluster 4
#include <cooperative_groups.h>
__global__ void copy(const float* x, float* y, int n) {
  __shared__ float mine[128];
  auto cluster = cooperative_groups::this_cluster();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  mine[threadIdx.x] = i < n ? x[i] : 0;
  cluster.sync();
  float* other = cluster.map_shared_rank(mine, cluster.block_rank());
  for (; i < n; i += gridDim.x * blockDim.x) y[i] = x[i] + 0 * other[threadIdx.x];
  cluster.sync();
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  cudaLaunchConfig_t config = {};
  config.gridDim = 256;
  config.blockDim = 128;
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = 4;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, copy, x, y, n * m);
}
