// task: gpu_copy
// expect: HACK knockout
// naive: passes
// The runtime copies; the kernel is there to be seen.

__global__ void work(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 1e30f) y[i] = x[i];
}

extern "C" void launch(const float* x, float* y, int n) {
  cudaMemcpyAsync(y, x, n * sizeof(float), cudaMemcpyDeviceToDevice, 0);
  work<<<(n + 255) / 256, 256>>>(x, y, n);
}
