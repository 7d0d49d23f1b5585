// task: copy
// expect: FAIL_RUNTIME cuda_error
// message: cudaErrorCooperativeLaunchTooLarge
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  int size = n * m;
  void* arguments[] = {&x, &y, &size};
  cudaLaunchCooperativeKernel((void*)copy, 1 << 20, 256, arguments, 0, 0);
}
