// task: copy
// expect: FAIL_PLAN event
// message: launch calls cudaEvent
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  cudaEvent_t begin;
  cudaEventCreate(&begin);
  cudaEventRecord(begin);
  copy<<<(n * m + 255) / 256, 256>>>(x, y, n * m);
}
