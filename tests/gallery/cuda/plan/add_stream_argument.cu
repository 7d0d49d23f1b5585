// task: add
// expect: PLAN
__global__ void add(const float* x, const float* z, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + z[i];
}
extern "C" void launch(const float* x, const float* z, float* y, int n, int m, cudaStream_t stream) {
  add<<<(n * m + 255) / 256, 256, 0, stream>>>(x, z, y, n * m);
  cudaStreamSynchronize(stream);
}
