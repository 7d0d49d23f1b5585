// task: gpu_gather
// expect: FAIL_INCORRECT
// Takes the indices for a rising sequence and reads the first alone. Caught by: they are drawn.

__global__ void work(const float* x, const int* at, float* y, int k, int n, int m) {
  for (int j = threadIdx.x; j < m; j += blockDim.x)
    y[size_t(blockIdx.x) * m + j] = x[size_t((at[0] + blockIdx.x) % n) * m + j];
}

extern "C" void launch(const float* x, const int* at, float* y, int k, int n, int m) {
  work<<<k, 128>>>(x, at, y, k, n, m);
}
