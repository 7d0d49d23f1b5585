// task: copy
// expect: REJECT_POLICY library
// message: launch calls cublasCreate_v2: there are no libraries
extern "C" int cublasCreate_v2(void**);
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  void* handle;
  cublasCreate_v2(&handle);
  copy<<<(n * m + 255) / 256, 256>>>(x, y, n * m);
}
