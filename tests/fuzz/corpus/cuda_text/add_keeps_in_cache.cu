// task: gpu_add
// expect: PASS
// no faster than: add_plain
// Asks the cache to keep its inputs: the next ones are others, elsewhere.

__device__ float keep(const float* p) {
  float v;
  asm volatile(
      "{ .reg .b64 policy; createpolicy.fractional.L2::evict_last.b64 policy, 1.0;\n"
      "  ld.global.L2::cache_hint.f32 %0, [%1], policy; }"
      : "=f"(v)
      : "l"(p));
  return v;
}
__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = keep(x + i) + keep(z + i);
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
