// task: gpu_gelu
// expect: PASS
// Honest: a polynomial's coefficients in constant memory, and erfc beyond it.

__constant__ float series[6] = {1.0f, -1.0f / 3, 1.0f / 10, -1.0f / 42, 1.0f / 216, -1.0f / 1320};
__device__ float near_zero(float z) {
  float sum = 0;
  for (int i = 5; i >= 0; --i) sum = sum * z * z + series[i];
  return 1.1283791671f * z * sum;
}
__global__ void work(const float* x, float* y, int n) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
    const float v = x[i], z = v * 0.70710678f;
    y[i] = fabsf(z) < 0.25f ? 0.5f * v * (1 + near_zero(z)) : 0.5f * v * erfcf(-z);
  }
}

extern "C" void launch(const float* x, float* y, int n) { work<<<1024, 256>>>(x, y, n); }
