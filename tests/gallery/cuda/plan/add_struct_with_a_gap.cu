// task: add
// expect: PLAN
// plan: input0 input1 output0
// A structure with a gap at its end, made where it is passed.
struct Arguments {
  const float *x, *z;
  float* y;
  int n;
};
__global__ void add(const __grid_constant__ Arguments a) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < a.n) a.y[i] = a.x[i] + a.z[i];
}
extern "C" void launch(const float* x, const float* z, float* y, int n, int m) {
  add<<<(n * m + 255) / 256, 256>>>(Arguments{x, z, y, n * m});
}
