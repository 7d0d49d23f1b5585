// task: gpu_histogram
// expect: PASS
// Honest: an entry point with noexcept, restrict and sizes of 64 bits; bins of a warp of their own.

__global__ void work(const int* __restrict__ i, int* __restrict__ y, int m) {
  __shared__ unsigned bins[8][64];
  for (int at = threadIdx.x; at < 512; at += 256) bins[at / 64][at % 64] = 0;
  __syncthreads();
  for (int at = threadIdx.x; at < m; at += 256)
    atomicAdd(&bins[threadIdx.x / 32][i[size_t(blockIdx.x) * m + at]], 1u);
  __syncthreads();
  if (threadIdx.x >= 64) return;
  unsigned count = 0;
  for (const auto& warp : bins) count += warp[threadIdx.x];
  y[64 * blockIdx.x + threadIdx.x] = int(count);
}

extern "C" void launch(const int* __restrict__ i, int* __restrict__ y, const size_t n, const size_t m) noexcept {
  work<<<unsigned(n), 256>>>(i, y, int(m));
}
