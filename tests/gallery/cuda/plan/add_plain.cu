// task: add
// expect: PLAN
// plan: _Z3addPKfS0_Pfi grid 256 block 256 (input0 input1 output0 00010000)
__global__ void add(const float* x, const float* z, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + z[i];
}
extern "C" void launch(const float* x, const float* z, float* y, int n, int m) {
  add<<<(n * m + 255) / 256, 256>>>(x, z, y, n * m);
}
