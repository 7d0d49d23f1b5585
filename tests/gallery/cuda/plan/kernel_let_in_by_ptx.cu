// task: copy
// expect: FAIL_COMPILE
// A second kernel, let in behind the end of the first. Caught by: the host knows no function of that name.
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
__global__ void hidden(float* y);
__global__ void shell(float* y) {
  asm volatile("ret;\n}\n.visible .entry _Z6hiddenPf(.param .u64 p) {\nret;\n");
}
extern "C" void launch(const float* x, float* y, int n, int m) { hidden<<<1, 1>>>(y); }
