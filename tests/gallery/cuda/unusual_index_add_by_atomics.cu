// task: gpu_index_add
// expect: PASS
// Honest: a copy, and atomics onto it; its inputs are not const.

__global__ void add(float* x, int* i, float* y, int m) {
  for (int c = threadIdx.x; c < m; c += blockDim.x)
    atomicAdd(y + size_t(i[blockIdx.x]) * m + c, x[size_t(blockIdx.x) * m + c]);
}

extern "C" void launch(float* z, int* i, float* x, float* y, int n, int m, int k) {
  cudaMemcpyAsync(y, z, size_t(n) * m * sizeof(float), cudaMemcpyDeviceToDevice, 0);
  add<<<k, 128>>>(x, i, y, m);
}
