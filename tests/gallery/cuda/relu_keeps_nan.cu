// task: gpu_relu_nonfinite
// expect: PASS
// NaN and infinities as the reference has them.

__global__ void work(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] < 0 ? 0 : x[i];
}

extern "C" void launch(const float* x, float* y, int n) { work<<<(n + 255) / 256, 256>>>(x, y, n); }
