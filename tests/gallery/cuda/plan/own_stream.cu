// task: copy
// expect: FAIL_PLAN stream
// message: launch calls cudaStream
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  copy<<<(n * m + 255) / 256, 256, 0, stream>>>(x, y, n * m);
}
