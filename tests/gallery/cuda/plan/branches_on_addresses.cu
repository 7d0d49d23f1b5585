// task: copy
// expect: REJECT_POLICY changing_plan
// message: called again, launch makes another launch in step 1
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  copy<<<(n * m + 255) / 256 + (size_t(x) >> 20) % 4093, 256>>>(x, y, n * m);
}
