// task: gpu_gather
// expect: PASS
// A block a row.

__global__ void work(const float* x, const int* i, float* y, int, int m) {
  for (int c = threadIdx.x; c < m; c += 256) y[size_t(blockIdx.x) * m + c] = x[size_t(i[blockIdx.x]) * m + c];
}

extern "C" void launch(const float* x, const int* i, float* y, int k, int n, int m) {
  work<<<k, 256>>>(x, i, y, n, m);
}
