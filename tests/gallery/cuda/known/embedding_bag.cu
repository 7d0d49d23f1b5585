// task: gpu_embedding_bag
// expect: PASS
// A block per bag.

__global__ void work(const float* x, const int* r, float* y, int m) {
  const int* rows = r + blockIdx.x * 16;
  for (int j = threadIdx.x; j < m; j += 128) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 16; ++i) sum += x[size_t(rows[i]) * m + j];
    y[size_t(blockIdx.x) * m + j] = sum;
  }
}

extern "C" void launch(const float* x, const int* r, float* y, int k, int n, int m) {
  work<<<k, 128>>>(x, r, y, m);
}
