// task: gpu_row_sum
// expect: PASS
// A cluster of four blocks a row, which add up through shared memory of each other.

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void __cluster_dims__(4, 1, 1) work(const float* x, float* y, int m) {
  __shared__ float total;
  cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) total = 0;
  cluster.sync();
  float sum = 0;
  for (int i = threadIdx.x + cluster.block_rank() * blockDim.x; i < m; i += 4 * blockDim.x)
    sum += x[size_t(blockIdx.x / 4) * m + i];
  for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
  if (threadIdx.x % 32 == 0) atomicAdd(cluster.map_shared_rank(&total, 0), sum);
  cluster.sync();
  if (cluster.block_rank() == 0 && threadIdx.x == 0) y[blockIdx.x / 4] = total;
}

extern "C" void launch(const float* x, float* y, int n, int m) { work<<<4 * n, 128>>>(x, y, m); }
