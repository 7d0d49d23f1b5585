// task: gpu_column_max
// expect: PASS
// A thread per column and slice of rows, then one per column.

constexpr int kSlices = 64;

__global__ void slices(const float* x, float* part, int n, int m) {
  const int j = blockIdx.x * 128 + threadIdx.x;
  if (j >= m) return;
  float most = -INFINITY;
  for (int i = blockIdx.y; i < n; i += kSlices) most = fmaxf(most, x[size_t(i) * m + j]);
  part[blockIdx.y * m + j] = most;
}

__global__ void together(const float* part, float* y, int m) {
  const int j = blockIdx.x * 128 + threadIdx.x;
  if (j >= m) return;
  float most = -INFINITY;
  for (int s = 0; s < kSlices; ++s) most = fmaxf(most, part[s * m + j]);
  y[j] = most;
}

extern "C" void launch(const float* x, float* y, int n, int m) {
  float* part;
  cudaMallocAsync(&part, sizeof(float) * kSlices * m, 0);
  slices<<<dim3((m + 127) / 128, kSlices), 128>>>(x, part, n, m);
  together<<<(m + 127) / 128, 128>>>(part, y, m);
  cudaFreeAsync(part, 0);
}
