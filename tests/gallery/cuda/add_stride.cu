// task: gpu_add
// expect: PASS
// As many blocks as the GPU holds.

__global__ void work(const float* x, const float* z, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = x[i] + z[i];
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  int blocks = 0;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, work, 256, 0);
  work<<<132 * blocks, 256>>>(x, z, y, n);
}
