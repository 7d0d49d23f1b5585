// task: gpu_add_whole
// expect: PASS
// Four elements a thread, up to the last one.

__global__ void work(const float4* x, const float4* z, float4* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n / 4) return;
  const float4 a = x[i], b = z[i];
  y[i] = {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n / 4 + 255) / 256, 256>>>(reinterpret_cast<const float4*>(x), reinterpret_cast<const float4*>(z),
                                     reinterpret_cast<float4*>(y), n);
}
