// task: copy
// expect: PLAN
// nvcc: --use_fast_math -O0 -Xptxas -v; flags: none of it is read. What pragmas ask is for the host alone.
#pragma GCC optimize("fast-math")
// nvcc: --use_fast_math -I/etc
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  copy<<<(n * m + 255) / 256, 256>>>(x, y, n * m);
}
