// task: matmul
// expect: PLAN
// plan: grid 16x16 block 16x16
constexpr int T = 16;
__global__ void matmul(const float* a, const float* b, float* c, int n, int m) {
  __shared__ float sa[T][T], sb[T][T];
  int row = blockIdx.y * T + threadIdx.y, column = blockIdx.x * T + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < m; k += T) {
    sa[threadIdx.y][threadIdx.x] = row < n && k + threadIdx.x < m ? a[row * m + k + threadIdx.x] : 0;
    sb[threadIdx.y][threadIdx.x] = column < m && k + threadIdx.y < m ? b[(k + threadIdx.y) * m + column] : 0;
    __syncthreads();
    for (int i = 0; i < T; ++i) sum += sa[threadIdx.y][i] * sb[i][threadIdx.x];
    __syncthreads();
  }
  if (row < n && column < m) c[row * m + column] = sum;
}
extern "C" void launch(const float* a, const float* b, float* c, int n, int m) {
  matmul<<<dim3((m + T - 1) / T, (n + T - 1) / T), dim3(T, T)>>>(a, b, c, n, m);
}
