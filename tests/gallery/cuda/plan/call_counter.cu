// task: copy
// expect: REJECT_POLICY changing_plan
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  static int calls = 0;
  if (++calls % 2) {
    copy<<<(n * m + 255) / 256, 256>>>(x, y, n * m);
  }
  copy<<<1, 1>>>(x, y, 1);
}
