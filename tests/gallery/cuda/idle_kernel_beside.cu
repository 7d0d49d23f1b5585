// task: gpu_add
// expect: PASS
// no faster than: add_plain
// A second kernel that writes a workspace nobody reads. It costs its own time and nothing else.

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + z[i];
}
__global__ void idle(const float* x, float* t, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) t[i] = x[i] * x[i];
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  float* t = nullptr;
  cudaMalloc(&t, n * sizeof(float));
  idle<<<(n + 255) / 256, 256>>>(x, t, n);
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
