// task: add
// expect: PLAN
// plan: input0 input1+4 output0 40000000
struct Arguments {
  int n;
  const float *x, *z;
  float* y;
  float bias;
};
__global__ void add(Arguments a) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < a.n) a.y[i] = a.x[i] + a.z[i - 1] + a.bias - 2;
}
extern "C" void launch(const float* x, const float* z, float* y, int n, int m) {
  Arguments a;
  a.n = n * m;
  a.x = x, a.z = z + 1, a.y = y;
  a.bias = 2;
  add<<<(n * m + 255) / 256, 256>>>(a);
}
