// task: copy
// expect: REJECT_POLICY stack_quota
// 64 KiB of local memory a thread: 17 GiB for the whole GPU. Caught by: the gate.
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
__global__ void spill(const float* x, float* y, int n) {
  volatile float mine[16384];
  for (int i = 0; i < n; ++i) mine[int(x[i])] = x[i];
  y[0] = mine[n];
}
extern "C" void launch(const float* x, float* y, int n, int m) { spill<<<1, 1>>>(x, y, n); }
