// task: copy
// expect: PLAN
// A table that the cubin initialises: the runner compares it after each call.
__device__ float table[4] = {1, 2, 3, 4};
__global__ void look(float* y) { *y = table[threadIdx.x]; }
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  look<<<1, 1>>>(y);
  copy<<<(n * m + 255) / 256, 256>>>(x, y, n * m);
}
