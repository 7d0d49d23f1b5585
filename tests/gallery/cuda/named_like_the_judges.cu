// task: gpu_add
// expect: PASS
// Honest: its kernels have the names of the judge's own.

extern "C" __global__ void temper_flush(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" __global__ void temper_check_draw(const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += z[i];
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  temper_flush<<<(n + 255) / 256, 256>>>(x, y, n);
  temper_check_draw<<<(n + 255) / 256, 256>>>(z, y, n);
}
