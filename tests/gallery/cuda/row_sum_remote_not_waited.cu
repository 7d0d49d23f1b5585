// task: gpu_row_sum
// expect: FAIL_INCORRECT|FAIL_RUNTIME|FAIL_TIMEOUT
// Three blocks of a cluster send their part to the fourth, which has written the sum before they come. Caught
// by: the sum lacks them, or the memory they go to is gone, which the driver takes a second to say.

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
  if (cluster.block_rank() != 0) __nanosleep(2000);
  if (threadIdx.x == 0) atomicAdd(cluster.map_shared_rank(&total, 0), sum);
  if (cluster.block_rank() == 0 && threadIdx.x == 0) y[blockIdx.x / 4] = total;
}

extern "C" void launch(const float* x, float* y, int n, int m) { work<<<4 * n, 32>>>(x, y, m); }
