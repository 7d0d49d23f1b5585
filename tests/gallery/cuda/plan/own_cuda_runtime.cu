// task: copy
// expect: PLAN
// Harmless: a cudaLaunchKernel of its own, to be asked in place of the recorder. That one is found first.
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t) {
  return cudaSuccess;
}
extern "C" cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t) {
  return cudaSuccess;
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  copy<<<(n * m + 255) / 256, 256>>>(x, y, n * m);
}
