// task: copy
// expect: PLAN
// plan: _Z4copyPKfPfi grid 256 block 256 shared 1024
extern __shared__ float row[];
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  copy<<<(n * m + 255) / 256, 256, 300 << 10>>>(x, y, n * m);
  if (cudaGetLastError() != cudaSuccess) copy<<<(n * m + 255) / 256, 256, 1 << 10>>>(x, y, n * m);
}
