// task: gpu_add
// expect: FAIL_TIMEOUT timeout
// Waits at a barrier in shared memory for bytes that were never sent. Caught by: the budget.

__global__ void work(const float* x, const float* z, float* y, int n) {
  __shared__ alignas(8) unsigned long long barrier;
  const unsigned at = unsigned(__cvta_generic_to_shared(&barrier));
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + z[i];
  if (threadIdx.x != 0) return;
  asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at));
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 64;" ::"r"(at));
  asm volatile(
      "{ .reg .pred done;\n"
      "again: mbarrier.try_wait.parity.shared.b64 done, [%0], 0;\n"
      "  @!done bra again; }" ::"r"(at)
      : "memory");
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
