// task: gpu_add
// expect: PASS
// Honest: one warp fetches tiles with bulk copies, the others add; full and empty barriers between them.

constexpr int T = 1024, kStages = 2, kAdders = 256;

__device__ unsigned address(const void* p) { return unsigned(__cvta_generic_to_shared(p)); }
__device__ void wait(unsigned long long* barrier, int phase) {
  asm volatile(
      "{ .reg .pred done;\n"
      "again: mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
      "  @!done bra again; }" ::"r"(address(barrier)),
      "r"(phase)
      : "memory");
}
__device__ void fetch(float* to, const float* from, unsigned long long* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          address(to)),
      "l"(from), "r"(4 * T), "r"(address(barrier))
      : "memory");
}
__global__ void work(const float* x, const float* z, float* y, int n) {
  __shared__ alignas(128) float sx[kStages][T], sz[kStages][T];
  __shared__ alignas(8) unsigned long long full[kStages], empty[kStages];
  const int tiles = n / T, adder = int(threadIdx.x) - 32;
  if (threadIdx.x < kStages) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(address(&full[threadIdx.x])));
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address(&empty[threadIdx.x])), "r"(kAdders));
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  int use = 0;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, ++use) {
    const int stage = use % kStages, phase = use / kStages % 2;
    if (adder < 0 && threadIdx.x == 0) {
      wait(&empty[stage], phase ^ 1);
      asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(address(&full[stage])),
                   "r"(8 * T));
      fetch(sx[stage], x + size_t(tile) * T, &full[stage]);
      fetch(sz[stage], z + size_t(tile) * T, &full[stage]);
    } else if (adder >= 0) {
      wait(&full[stage], phase);
      for (int i = adder; i < T; i += kAdders) y[size_t(tile) * T + i] = sx[stage][i] + sz[stage][i];
      asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(address(&empty[stage])) : "memory");
    }
  }
  const int i = tiles * T + blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + z[i];
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<528, 32 + kAdders>>>(x, z, y, n);
}
