// task: copy
// expect: FAIL_PLAN
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  cudaStreamAttrValue value = {};
  value.accessPolicyWindow.base_ptr = (void*)x;
  value.accessPolicyWindow.num_bytes = 4 * n * m;
  cudaStreamSetAttribute(0, cudaStreamAttributeAccessPolicyWindow, &value);
  copy<<<(n * m + 255) / 256, 256>>>(x, y, n * m);
}
