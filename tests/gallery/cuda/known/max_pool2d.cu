// task: gpu_max_pool2d
// expect: PASS
// A thread per output.

__global__ void work(const float* x, float* y, int planes, int h, int w, int q, int r) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i >= 1ll * planes * q * r) return;
  const int column = i % r * 2, row = i / r % q * 2;
  const float* plane = x + i / (1ll * q * r) * h * w;
  float most = -INFINITY;
  for (int dy = -1; dy < 2; ++dy)
    for (int dx = -1; dx < 2; ++dx)
      if (row + dy >= 0 && row + dy < h && column + dx >= 0 && column + dx < w)
        most = fmaxf(most, plane[(row + dy) * w + column + dx]);
  y[i] = most;
}

extern "C" void launch(const float* x, float* y, int p, int c, int h, int w, int q, int r) {
  const long long count = 1ll * p * c * q * r;
  work<<<int((count + 255) / 256), 256>>>(x, y, p * c, h, w, q, r);
}
