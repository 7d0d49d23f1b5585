// task: gpu_copy
// expect: PASS|FAIL_INCORRECT
// no faster than: copy_kernel
// Ends while its bulk copies out of shared memory are still on their way. Caught by: the grid is not over
// before they are; where another block has the memory by then, the output is wrong.

constexpr int T = 4096;

__device__ unsigned address(const void* p) { return unsigned(__cvta_generic_to_shared(p)); }

__global__ void work(const float* x, float* y, int n) {
  __shared__ alignas(128) float tile[T];
  const size_t begin = size_t(blockIdx.x) * T;
  const int count = int(min(size_t(T), n - begin)), whole = count / 4 * 4;
  for (int i = threadIdx.x; i < count; i += blockDim.x) tile[i] = x[begin + i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0 && whole > 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(y + begin),
                 "r"(address(tile)), "r"(4 * whole)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;");
  }
  if (whole + int(threadIdx.x) < count) y[begin + whole + threadIdx.x] = tile[whole + threadIdx.x];
}

extern "C" void launch(const float* x, float* y, int n) { work<<<(n + T - 1) / T, 256>>>(x, y, n); }
