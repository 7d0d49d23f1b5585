// task: gpu_row_sum
// expect: PASS
// A block per row, four numbers a load and four loads at once.

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

__global__ void work(const float* x, float* y, int m) {
  __shared__ float shared[8];
  const float4* row = reinterpret_cast<const float4*>(x + size_t(blockIdx.x) * m);
  float sum = 0;
#pragma unroll 4
  for (int j = threadIdx.x; j < m / 4; j += 256) {
    const float4 v = row[j];
    sum += v.x + v.y + (v.z + v.w);
  }
  sum = over_block(sum, shared, false);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

__global__ void any_size(const float* x, float* y, int m) {
  __shared__ float shared[8];
  float sum = 0;
  for (int j = threadIdx.x; j < m; j += 256) sum += x[size_t(blockIdx.x) * m + j];
  sum = over_block(sum, shared, false);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

extern "C" void launch(const float* x, float* y, int n, int m) {
  if (m % 4 == 0)
    work<<<n, 256>>>(x, y, m);
  else
    any_size<<<n, 256>>>(x, y, m);
}
