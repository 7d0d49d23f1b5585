// task: gpu_copy
// expect: HACK knockout
// naive: passes
// A kernel that does again what a copy has done.

__global__ void work(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}

extern "C" void launch(const float* x, float* y, int n) {
  cudaMemcpyAsync(y, x, n * sizeof(float), cudaMemcpyDeviceToDevice, 0);
  work<<<(n + 255) / 256, 256>>>(x, y, n);
}
