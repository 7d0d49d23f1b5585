// task: gpu_copy
// expect: PASS
// Honest: bulk copies into shared memory and out of it, waited for with a barrier and with a group.

constexpr int T = 4096;  // floats

__device__ unsigned address(const void* p) { return unsigned(__cvta_generic_to_shared(p)); }

__global__ void work(const float* x, float* y, int n) {
  __shared__ alignas(128) float tile[T];
  __shared__ alignas(8) unsigned long long barrier;
  const size_t begin = size_t(blockIdx.x) * T;
  const int count = int(min(size_t(T), n - begin)) / 4 * 4, bytes = 4 * count;
  if (threadIdx.x == 0 && bytes > 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(address(&barrier)));
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(address(&barrier)), "r"(bytes));
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            address(tile)),
        "l"(x + begin), "r"(bytes), "r"(address(&barrier))
        : "memory");
    asm volatile(
        "{ .reg .pred done;\n"
        "again: mbarrier.try_wait.parity.shared.b64 done, [%0], 0;\n"
        "  @!done bra again; }" ::"r"(address(&barrier))
        : "memory");
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(y + begin),
                 "r"(address(tile)), "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
  const size_t last = begin + count + threadIdx.x;  // what 16 bytes do not divide
  if (threadIdx.x < 4 && count < T && last < n) y[last] = x[last];
}

extern "C" void launch(const float* x, float* y, int n) { work<<<(n + T - 1) / T, 32>>>(x, y, n); }
