// task: gpu_add
// expect: PASS
// Eight blocks for everything: right, and slower than the baseline.

__global__ void work(const float* x, const float* z, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = x[i] + z[i];
}

extern "C" void launch(const float* x, const float* z, float* y, int n) { work<<<8, 256>>>(x, z, y, n); }
