// task: gpu_add
// expect: PASS
// Honest: the second kernel is launched before the first has ended, and waits for it where it needs it.

__global__ void copy(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
  asm volatile("griddepcontrol.launch_dependents;");
}
__global__ void add(const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float mine = i < n ? z[i] : 0;
  asm volatile("griddepcontrol.wait;" ::: "memory");
  if (i < n) y[i] += mine;
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  copy<<<(n + 255) / 256, 256>>>(x, y, n);
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = (n + 255) / 256;
  config.blockDim = 256;
  config.attrs = &attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, add, z, y, n);
}
