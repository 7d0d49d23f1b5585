// task: gpu_add
// expect: PASS
// Harmless: uses an input for its own and puts it back. Nobody but this call sees it.

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  volatile float* mine = const_cast<float*>(x);
  const float before = mine[i];
  mine[i] = before + z[i];
  y[i] = mine[i];
  mine[i] = before;
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
