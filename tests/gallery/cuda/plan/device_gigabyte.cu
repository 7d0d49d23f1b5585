// task: copy
// expect: REJECT_POLICY global_quota
__device__ char large[1 << 30];
__global__ void look(float* y) { *y = ++large[threadIdx.x]; }
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  look<<<1, 1>>>(y);
  copy<<<(n * m + 255) / 256, 256>>>(x, y, n * m);
}
