// task: copy
// expect: REJECT_POLICY changing_plan
// Tells the kernel which call it is. Caught by: the two plans.
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
__global__ void tell(const float* x, float* y, int n, int call) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && call < 3) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  static int calls = 0;
  tell<<<(n * m + 255) / 256, 256>>>(x, y, n * m, ++calls);
}
