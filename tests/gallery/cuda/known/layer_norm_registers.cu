// task: gpu_layer_norm
// expect: PASS
// A block per row that it keeps in registers.

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
__global__ void work(const float* x, const float* w, const float* b, float* y, int m) {
  __shared__ float shared[8];
  const float4* row = reinterpret_cast<const float4*>(x + size_t(blockIdx.x) * m);
  float4* out = reinterpret_cast<float4*>(y + size_t(blockIdx.x) * m);
  float4 v[kEach];
  float sum = 0, square = 0;
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    const int j = e * 256 + threadIdx.x;
    v[e] = 4 * j < m ? row[j] : float4{0, 0, 0, 0};
    sum += v[e].x + v[e].y + v[e].z + v[e].w;
  }
  const float mean = over_block(sum, shared, false) / m;
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    if (4 * (e * 256 + threadIdx.x) < m) {
      v[e] = {v[e].x - mean, v[e].y - mean, v[e].z - mean, v[e].w - mean};
      square += v[e].x * v[e].x + v[e].y * v[e].y + v[e].z * v[e].z + v[e].w * v[e].w;
    }
  }
  const float scale = rsqrtf(over_block(square, shared, false) / m + 1e-5f);
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    const int j = e * 256 + threadIdx.x;
    if (4 * j >= m) continue;
    const float4 g = reinterpret_cast<const float4*>(w)[j], s = reinterpret_cast<const float4*>(b)[j];
    out[j] = {v[e].x * scale * g.x + s.x, v[e].y * scale * g.y + s.y, v[e].z * scale * g.z + s.z,
              v[e].w * scale * g.w + s.w};
  }
}

__global__ void any_size(const float* x, const float* w, const float* b, float* y, int m) {
  __shared__ float shared[8];
  const float* row = x + size_t(blockIdx.x) * m;
  float sum = 0, square = 0;
  for (int j = threadIdx.x; j < m; j += 256) sum += row[j];
  const float mean = over_block(sum, shared, false) / m;
  for (int j = threadIdx.x; j < m; j += 256) square += (row[j] - mean) * (row[j] - mean);
  const float scale = rsqrtf(over_block(square, shared, false) / m + 1e-5f);
  for (int j = threadIdx.x; j < m; j += 256)
    y[size_t(blockIdx.x) * m + j] = (row[j] - mean) * scale * w[j] + b[j];
}

extern "C" void launch(const float* x, const float* w, const float* b, float* y, int n, int m) {
  if (m % 4 == 0 && m <= 2048)
    work<2><<<n, 256>>>(x, w, b, y, m);
  else
    any_size<<<n, 256>>>(x, w, b, y, m);
}
