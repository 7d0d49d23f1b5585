// task: gpu_softmax
// expect: PASS
// A block per row that it keeps in registers: every number is read once and written once.

__device__ float over_block(float value, float* shared, bool largest) {
  const int t = threadIdx.x;
  for (int step = 16; step > 0; step /= 2) {
    const float other = __shfl_xor_sync(0xffffffff, value, step);
    value = largest ? fmaxf(value, other) : value + other;
  }
  __syncthreads();
  if (t % 32 == 0) shared[t / 32] = value;
  __syncthreads();
  value = shared[0];
  for (int warp = 1; warp < int(blockDim.x) / 32; ++warp)
    value = largest ? fmaxf(value, shared[warp]) : value + shared[warp];
  return value;
}

template <int kEach>
__global__ void work(const float* x, float* y, int m) {
  __shared__ float shared[8];
  const float4* row = reinterpret_cast<const float4*>(x + size_t(blockIdx.x) * m);
  float4* out = reinterpret_cast<float4*>(y + size_t(blockIdx.x) * m);
  float4 v[kEach];
  float most = -INFINITY, sum = 0;
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    const int j = e * 256 + threadIdx.x;
    if (4 * j < m) {
      v[e] = row[j];
      most = fmaxf(most, fmaxf(fmaxf(v[e].x, v[e].y), fmaxf(v[e].z, v[e].w)));
    }
  }
  most = over_block(most, shared, true);
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    if (4 * (e * 256 + threadIdx.x) < m) {
      v[e] = {expf(v[e].x - most), expf(v[e].y - most), expf(v[e].z - most), expf(v[e].w - most)};
      sum += v[e].x + v[e].y + v[e].z + v[e].w;
    }
  }
  const float scale = 1 / over_block(sum, shared, false);
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    const int j = e * 256 + threadIdx.x;
    if (4 * j < m) out[j] = {v[e].x * scale, v[e].y * scale, v[e].z * scale, v[e].w * scale};
  }
}

__global__ void any_size(const float* x, float* y, int m) {
  __shared__ float shared[8];
  const float* row = x + size_t(blockIdx.x) * m;
  float most = -INFINITY, sum = 0;
  for (int j = threadIdx.x; j < m; j += 256) most = fmaxf(most, row[j]);
  most = over_block(most, shared, true);
  for (int j = threadIdx.x; j < m; j += 256) sum += expf(row[j] - most);
  sum = over_block(sum, shared, false);
  for (int j = threadIdx.x; j < m; j += 256) y[size_t(blockIdx.x) * m + j] = expf(row[j] - most) / sum;
}

extern "C" void launch(const float* x, float* y, int n, int m) {
  if (m % 4 == 0 && m <= 4096)
    work<4><<<n, 256>>>(x, y, m);
  else
    any_size<<<n, 256>>>(x, y, m);
}
