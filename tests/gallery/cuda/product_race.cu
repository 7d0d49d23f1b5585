// task: gpu_product
// expect: FAIL_INCORRECT tolerance
// Tiles in shared memory that nobody waits for.

__global__ void work(const float* a, const float* b, float* c, int n, int m, int k) {
  __shared__ float left[16][16], right[16][16];
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int begin = 0; begin < k; begin += 16) {
    left[threadIdx.y][threadIdx.x] =
        row < n && begin + threadIdx.x < k ? a[row * k + begin + threadIdx.x] : 0;
    right[threadIdx.y][threadIdx.x] =
        column < m && begin + threadIdx.y < k ? b[(begin + threadIdx.y) * m + column] : 0;
    for (int i = 15; i >= 0; --i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
  }
  if (row < n && column < m) c[row * m + column] = sum;
}

extern "C" void launch(const float* a, const float* b, float* c, int n, int m, int k) {
  work<<<dim3((m + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(a, b, c, n, m, k);
}
