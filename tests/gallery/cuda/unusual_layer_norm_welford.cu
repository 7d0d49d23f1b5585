// task: gpu_layer_norm
// expect: PASS
// Honest: welford's mean and variance, joined over a warp as Chan's.

struct Seen { float count, mean, square; };
__device__ Seen both(Seen a, Seen b) {
  const float count = a.count + b.count, off = b.mean - a.mean;
  if (count == 0) return a;
  return {count, a.mean + off * b.count / count, a.square + b.square + off * off * a.count * b.count / count};
}
__global__ void work(const float* x, float* y, int m) {
  const float* row = x + size_t(blockIdx.x) * m;
  Seen seen{0, 0, 0};
  for (int i = threadIdx.x; i < m; i += 32) {
    const float off = row[i] - seen.mean;
    seen.count += 1;
    seen.mean += off / seen.count;
    seen.square += off * (row[i] - seen.mean);
  }
  for (int o = 16; o > 0; o /= 2)
    seen = both(seen, {__shfl_xor_sync(~0u, seen.count, o), __shfl_xor_sync(~0u, seen.mean, o),
                       __shfl_xor_sync(~0u, seen.square, o)});
  const float scale = rsqrtf(seen.square / m + 1e-5f);
  for (int i = threadIdx.x; i < m; i += 32) y[size_t(blockIdx.x) * m + i] = (row[i] - seen.mean) * scale;
}

extern "C" void launch(const float* x, float* y, int n, int m) { work<<<n, 32>>>(x, y, m); }
