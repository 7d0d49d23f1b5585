// task: copy
// expect: FAIL_PLAN host_read
// message: launch touches GPU memory on the host
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  if (x[0] > 0) return;
  copy<<<(n * m + 255) / 256, 256>>>(x, y, n * m);
}
