// task: copy
// expect: FAIL_RUNTIME signal_8
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  volatile int zero = 0;
  copy<<<n / zero, 256>>>(x, y, n * m);
}
