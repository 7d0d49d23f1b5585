// task: copy
// expect: REJECT_POLICY changing_plan
// A workspace larger at each call. Caught by: the two plans.
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  static size_t bytes = 1024;
  float* t = nullptr;
  cudaMalloc(&t, bytes += 1024);
  copy<<<(n * m + 255) / 256, 256>>>(x, y, n * m);
  copy<<<1, 1>>>(x, t, 1);
}
