// task: gpu_add
// expect: FAIL_RUNTIME guard
// … behind the first input, in front of the next. Caught by: the same.

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + z[i];
  if (i == 0) atomicAdd(reinterpret_cast<unsigned*>(const_cast<float*>(x) + n) + 100, 1u);
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
