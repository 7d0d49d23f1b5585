// task: copy
// expect: FAIL_COMPILE
// Calls the device runtime's launch by its name. Caught by: functions that the cubin does not define.
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" __device__ cudaError_t cudaLaunchDeviceV2(void* buffer, cudaStream_t stream);
__global__ void start(float* y) { *y = cudaLaunchDeviceV2(y, 0); }
extern "C" void launch(const float* x, float* y, int n, int m) { start<<<1, 1>>>(y); }
