// task: total
// expect: PLAN
// plan: memset output0 to 0x0, 4 x 1 bytes
__global__ void total(const float* x, float* y, int n) {
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (threadIdx.x % 32 == 0) atomicAdd(y, sum);
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  cudaMemsetAsync(y, 0, sizeof(float));
  total<<<132, 256>>>(x, y, n * m);
}
