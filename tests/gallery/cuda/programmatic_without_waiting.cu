// task: gpu_add
// expect: FAIL_INCORRECT
// The second kernel begins early and does not wait for what the first one writes. Caught by: it reads poison,
// or the first overwrites it.

__global__ void slow(const float* x, float* t, int n) {
  asm volatile("griddepcontrol.launch_dependents;");
  for (int k = 0; k < 40; ++k) __nanosleep(1000);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) t[i] = x[i];
}
__global__ void add(const float* t, const float* z, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = t[i] + z[i];
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  float* t = nullptr;
  cudaMalloc(&t, n * sizeof(float));
  slow<<<132, 256>>>(x, t, n);
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = 132;
  config.blockDim = 256;
  config.attrs = &attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, add, t, z, y, n);
  cudaFree(t);
}
