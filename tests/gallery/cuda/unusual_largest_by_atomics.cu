// task: gpu_largest
// expect: PASS
// Honest: an atomic maximum of bits, onto an output that a memset has cleared.

__global__ void work(const float* x, float* y, int n) {
  float v = 0;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) v = fmaxf(v, fabsf(x[i]));
  for (int o = 16; o > 0; o /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, o));
  if (threadIdx.x % 32 == 0) atomicMax(reinterpret_cast<int*>(y), __float_as_int(v));
}

extern "C" void launch(const float* x, float* y, int n) {
  cudaMemsetAsync(y, 0, 4, 0);
  work<<<256, 256>>>(x, y, n);
}
