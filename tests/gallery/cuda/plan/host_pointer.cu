// task: copy
// expect: FAIL_PLAN host_pointer
// message: argument 1 of _Z4copyPKfPfi points to host memory
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  static float table[64];
  copy<<<(n * m + 255) / 256, 256>>>(table, y, n * m);
}
