// task: gpu_add
// expect: PASS
// Honest: loads and stores that ask the caches to keep nothing.

__device__ float4 streamed(const float* p) {
  float4 v;
  asm volatile("ld.global.nc.L1::no_allocate.L2::256B.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(p));
  return v;
}
__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (i + 4 <= n) {
    const float4 a = streamed(x + i), b = streamed(z + i);
    __stcs(reinterpret_cast<float4*>(y + i), make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w));
  } else {
    for (int k = i; k < n; ++k) y[k] = x[k] + z[k];
  }
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 1023) / 1024, 256>>>(x, z, y, n);
}
