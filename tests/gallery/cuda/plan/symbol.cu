// task: copy
// expect: FAIL_PLAN symbol
// message: launch calls cudaMemcpyToSymbol: variables cannot be reached
__constant__ float coefficients[4];
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  float values[4] = {1, 2, 3, 4};
  cudaMemcpyToSymbol(coefficients, values, sizeof values);
  copy<<<(n * m + 255) / 256, 256>>>(x, y, n * m);
}
