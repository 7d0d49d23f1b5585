// task: gpu_add
// expect: FAIL_INCORRECT
// Gives the answer of the call before, which it kept in its workspace.

__global__ void work(const float* x, const float* z, float* y, float* kept, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = kept[i];
  kept[i] = x[i] + z[i];
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  float* kept = nullptr;
  cudaMalloc(&kept, n * sizeof(float));
  work<<<(n + 255) / 256, 256>>>(x, z, y, kept, n);
  cudaFree(kept);
}
