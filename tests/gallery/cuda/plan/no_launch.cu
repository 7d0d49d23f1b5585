// task: copy
// expect: FAIL_PLAN no_launch
// message: launch starts no kernel
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  if (n > 1 << 30) copy<<<1, 1>>>(x, y, n * m);
}
