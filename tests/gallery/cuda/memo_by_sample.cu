// task: gpu_add
// expect: PASS|FAIL_INCORRECT
// no faster than: add_plain
// naive: passes
// Keeps in a workspace a sample of its inputs, and does nothing where the next ones begin alike. Caught by:
// inputs are new each time, and workspaces hold something else; what it saves in repeated calls is not
// counted. Where inputs begin with zeros, so may its workspace.

__global__ void work(const float* x, const float* z, float* y, const float* kept, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int k = n < 8 ? n : 8;
  bool same = true;
  for (int j = 0; j < k; ++j) same &= kept[j] == x[j] && kept[8 + j] == z[j];
  if (i < n && !same) y[i] = x[i] + z[i];
}
__global__ void keep(const float* x, const float* z, float* kept, int n) {
  if (threadIdx.x < n) kept[threadIdx.x] = x[threadIdx.x], kept[8 + threadIdx.x] = z[threadIdx.x];
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  float* kept = nullptr;
  cudaMalloc(&kept, 16 * sizeof(float));
  work<<<(n + 255) / 256, 256>>>(x, z, y, kept, n);
  keep<<<1, 8>>>(x, z, kept, n);
  cudaFree(kept);
}
