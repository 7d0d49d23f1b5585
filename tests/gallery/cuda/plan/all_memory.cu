// task: copy
// expect: FAIL_RUNTIME cuda_error
// message: cudaErrorMemoryAllocation
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  float* t;
  for (int i = 0; i < 100; ++i) cudaMalloc(&t, size_t(1) << 30);
  copy<<<(n * m + 255) / 256, 256>>>(x, y, n * m);
}
