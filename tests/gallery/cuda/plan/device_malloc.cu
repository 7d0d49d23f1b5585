// task: copy
// expect: REJECT_POLICY device_malloc
__global__ void take(float* y) { *y = *(new float); }
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  take<<<1, 1>>>(y);
  copy<<<(n * m + 255) / 256, 256>>>(x, y, n * m);
}
