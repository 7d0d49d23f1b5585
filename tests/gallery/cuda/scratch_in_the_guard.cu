// task: gpu_add
// expect: PASS
// Harmless: writes behind its output and puts back what was there.

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + z[i];
  if (i != 0) return;
  volatile float* behind = y + n;
  const float before = *behind;
  *behind = 1;
  *behind = before;
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
