// task: gpu_add
// expect: PASS
// Four elements a thread, and the rest one by one.

__global__ void work(const float4* x, const float4* z, float4* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (4 * i + 3 < n) {
    const float4 a = x[i], b = z[i];
    y[i] = {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
  } else {
    const float* a = reinterpret_cast<const float*>(x);
    const float* b = reinterpret_cast<const float*>(z);
    for (int k = 4 * i; k < n; ++k) reinterpret_cast<float*>(y)[k] = a[k] + b[k];
  }
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  const int threads = (n + 3) / 4;
  work<<<(threads + 255) / 256, 256>>>(reinterpret_cast<const float4*>(x), reinterpret_cast<const float4*>(z),
                                       reinterpret_cast<float4*>(y), n);
}
