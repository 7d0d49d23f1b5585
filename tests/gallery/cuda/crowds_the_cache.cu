// task: gpu_chain
// expect: PASS
// no faster than: chain_fused
// Right, and asks the L2 cache to keep all that it touches and 32 MiB more, so that the baseline, which comes
// next, finds none of it. Caught by: what the cache was asked to keep is given up after each call.

__device__ float keep(const float* p) {
  float v;
  asm volatile(
      "{ .reg .b64 policy; createpolicy.fractional.L2::evict_last.b64 policy, 1.0;\n"
      "  ld.global.L2::cache_hint.f32 %0, [%1], policy; }"
      : "=f"(v)
      : "l"(p));
  return v;
}
__global__ void work(const float* x, float* y, const float* more, int n, int extra) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = keep(x + i);
  if (8 * i < extra && keep(more + 8 * i) == 0.5f) return;  // a sector a thread
  y[i] = tanhf(v * 0.5f + 0.25f) * v - fabsf(v);
}

extern "C" void launch(const float* x, float* y, int n) {
  const int extra = 8 << 20;
  float* more = nullptr;
  cudaMalloc(&more, extra * sizeof(float));
  work<<<(n + 255) / 256, 256>>>(x, y, more, n, extra);
  cudaFree(more);
}
