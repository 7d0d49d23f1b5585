// task: gpu_add
// expect: PASS
// A memset, a copy and a kernel that adds to it.

__global__ void more(const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += z[i];
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  cudaMemsetAsync(y, 0, n * sizeof(float), 0);
  cudaMemcpyAsync(y, x, n * sizeof(float), cudaMemcpyDeviceToDevice, 0);
  more<<<(n + 255) / 256, 256>>>(z, y, n);
}
