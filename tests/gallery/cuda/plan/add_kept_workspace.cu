// task: add
// expect: PLAN
// plan: workspace0 262144 bytes
__global__ void copy(const float* x, float* t, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) t[i] = x[i];
}
__global__ void add(const float* t, const float* z, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = t[i] + z[i];
}
extern "C" void launch(const float* x, const float* z, float* y, int n, int m) {
  static float* workspace = nullptr;
  static size_t room = 0;
  if (room < sizeof(float) * n * m) {
    cudaFree(workspace);
    room = sizeof(float) * n * m;
    cudaMalloc(&workspace, room);
  }
  copy<<<(n * m + 255) / 256, 256>>>(x, workspace, n * m);
  add<<<(n * m + 255) / 256, 256>>>(workspace, z, y, n * m);
}
