// task: copy
// expect: REJECT_POLICY mutable_global
// message: the __device__ or static variable calls outlives a call
__device__ int calls;
__global__ void count(float* y) {
  if (atomicAdd(&calls, 1) < 10) *y = 1;
}
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  count<<<1, 1>>>(y);
  copy<<<(n * m + 255) / 256, 256>>>(x, y, n * m);
}
