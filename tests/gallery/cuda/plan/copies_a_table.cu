// task: copy
// expect: FAIL_PLAN host_data
// message: a copy from the host to the GPU
#include <vector>
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  std::vector<float> table(n * m, 1.0f);
  cudaMemcpy(y, table.data(), sizeof(float) * n * m, cudaMemcpyHostToDevice);
  copy<<<(n * m + 255) / 256, 256>>>(x, y, n * m);
}
