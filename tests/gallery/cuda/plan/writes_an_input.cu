// task: copy
// expect: HACK input_mutation
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  cudaMemset((void*)x, 0, 4 * n * m);
  copy<<<(n * m + 255) / 256, 256>>>(x, y, n * m);
}
