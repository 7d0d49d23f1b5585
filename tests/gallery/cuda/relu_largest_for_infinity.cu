// task: gpu_relu_nonfinite
// expect: FAIL_INCORRECT
// The largest number where infinity is right. Caught by: what is not finite must be so.

__global__ void work(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = isnan(x[i]) ? x[i] : fminf(fmaxf(x[i], 0), 3.4028234e38f);
}

extern "C" void launch(const float* x, float* y, int n) { work<<<(n + 255) / 256, 256>>>(x, y, n); }
