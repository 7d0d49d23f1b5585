// task: copy
// expect: PLAN
// Harmless: makes nothing of the check of its signature. The call is the same.
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  copy<<<(n * m + 255) / 256, 256>>>(x, y, n * m);
}
#define static_assert(...)
