// task: gpu_add
// expect: PASS
// Reads the sixteen bytes of which the last elements are a part, and uses those alone.

__global__ void work(const float4* x, const float4* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (4 * i >= n) return;
  const float4 a = x[i], b = z[i];
  const float sums[4] = {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
  for (int k = 0; k < 4 && 4 * i + k < n; ++k) y[4 * i + k] = sums[k];
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<((n + 3) / 4 + 255) / 256, 256>>>(reinterpret_cast<const float4*>(x),
                                           reinterpret_cast<const float4*>(z), y, n);
}
