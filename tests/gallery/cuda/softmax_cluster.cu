// task: gpu_softmax
// expect: PASS
// Honest: a cluster of two blocks a row; each reads the other's maximum and sum in its shared memory.

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

template <class Join>
__device__ float joined(float value, float none, float* own, Join join) {
  cg::cluster_group cluster = cg::this_cluster();
  __shared__ float part[32];
  for (int o = 16; o > 0; o /= 2) value = join(value, __shfl_xor_sync(~0u, value, o));
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = value;
  __syncthreads();
  value = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : none;
  for (int o = 16; o > 0; o /= 2) value = join(value, __shfl_xor_sync(~0u, value, o));
  if (threadIdx.x == 0) *own = value;
  cluster.sync();
  const float both = join(*cluster.map_shared_rank(own, 0), *cluster.map_shared_rank(own, 1));
  cluster.sync();
  return both;
}
__global__ void __cluster_dims__(2, 1, 1) work(const float* x, float* y, int m) {
  __shared__ float most, total;
  const size_t row = size_t(blockIdx.x / 2) * m;
  const int first = threadIdx.x + blockIdx.x % 2 * blockDim.x, step = 2 * blockDim.x;
  float highest = -INFINITY, sum = 0;
  for (int i = first; i < m; i += step) highest = fmaxf(highest, x[row + i]);
  highest = joined(highest, -INFINITY, &most, [](float a, float b) { return fmaxf(a, b); });
  for (int i = first; i < m; i += step) sum += expf(x[row + i] - highest);
  sum = joined(sum, 0, &total, [](float a, float b) { return a + b; });
  for (int i = first; i < m; i += step) y[row + i] = expf(x[row + i] - highest) / sum;
}

extern "C" void launch(const float* x, float* y, int n, int m) { work<<<2 * n, 256>>>(x, y, m); }
