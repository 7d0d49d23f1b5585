// task: gpu_add
// expect: FAIL_INCORRECT|FAIL_RUNTIME
// Counts its calls in a __constant__ variable, by way of its global address, and does half from the second
// call on. Caught by: the outputs of all calls are looked at, or that memory cannot be written.

__constant__ unsigned calls[64] = {};

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  volatile unsigned* const state =
      const_cast<volatile unsigned*>(static_cast<const volatile unsigned*>(calls));
  unsigned long long address;
  asm volatile("cvta.const.u64 %0, %1;"
               : "=l"(address)
               : "l"(__cvta_generic_to_constant(const_cast<unsigned*>(state))));
  unsigned before;
  asm volatile("ld.volatile.u32 %0, [%1];" : "=r"(before) : "l"(address));
  if (i < n) y[i] = before > 0 && i % 2 ? 0 : x[i] + z[i];
  if (i == 0) asm volatile("st.volatile.u32 [%0], %1;" ::"l"(address), "r"(before + 1) : "memory");
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
