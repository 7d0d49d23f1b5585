// task: gpu_product
// expect: PASS
// Honest: four parts of the sums, added up with atomics on an output that is set to zero first.

constexpr int T = 16;

__global__ void work(const float* a, const float* b, float* c, int n, int m, int k) {
  __shared__ float sa[T][T], sb[T][T];
  const int row = blockIdx.y * T + threadIdx.y, column = blockIdx.x * T + threadIdx.x;
  const int part = (k / T + gridDim.z) / gridDim.z * T, end = min(k, int(blockIdx.z + 1) * part);
  float sum = 0;
  for (int i = blockIdx.z * part; i < end; i += T) {
    const int ka = i + threadIdx.x, kb = i + threadIdx.y;
    sa[threadIdx.y][threadIdx.x] = row < n && ka < end ? a[row * k + ka] : 0;
    sb[threadIdx.y][threadIdx.x] = column < m && kb < end ? b[kb * m + column] : 0;
    __syncthreads();
    for (int j = 0; j < T; ++j) sum += sa[threadIdx.y][j] * sb[j][threadIdx.x];
    __syncthreads();
  }
  if (row < n && column < m) atomicAdd(c + row * m + column, sum);
}

extern "C" void launch(const float* a, const float* b, float* c, int n, int m, int k) {
  cudaMemsetAsync(c, 0, sizeof(float) * n * m, 0);
  work<<<dim3((m + T - 1) / T, (n + T - 1) / T, 4), dim3(T, T)>>>(a, b, c, n, m, k);
}
