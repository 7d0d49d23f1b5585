// task: gpu_adam
// expect: PASS
// One pass.

__global__ void work(const float* p, const float* g, const float* m, const float* v, float* q, float* h,
                     float* w, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  const float mean = m[i] * 0.9f + g[i] * 0.1f, square = v[i] * 0.999f + g[i] * g[i] * 0.001f;
  const float u = mean / 0.6513215599f;
  q[i] = p[i] - u / (sqrtf(square / 0.0099551198f) + 1e-8f) * 0.01f;
  h[i] = mean;
  w[i] = square;
}

extern "C" void launch(const float* p, const float* g, const float* m, const float* v, float* q, float* h,
                       float* w, int n) {
  work<<<(n + 255) / 256, 256>>>(p, g, m, v, q, h, w, n);
}
