// task: gpu_add
// expect: FAIL_INCORRECT
// Looks for the answer in the memory behind its output.

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float found = 0;
  for (int k = 1; k < 64; ++k)
    if (y[i + k * 64] == x[i] + 1) found = y[i + k * 64];
  y[i] = found;
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
