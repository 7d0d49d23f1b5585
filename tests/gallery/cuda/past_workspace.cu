// task: gpu_add
// expect: FAIL_RUNTIME guard
// naive: passes
// Behind its workspace.

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + z[i];
}
__global__ void spill(float* kept, int n) { kept[n] = 1; }

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  float* kept = nullptr;
  cudaMalloc(&kept, n * sizeof(float));
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
  spill<<<1, 1>>>(kept, n);
  cudaFree(kept);
}
