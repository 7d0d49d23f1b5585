// task: gpu_add
// expect: PASS
// no faster than: add_plain
// The kernel that works lets the next one begin at once; that one does nothing and does not wait, so that the
// call might seem to have ended. Caught by: an event follows all that was launched before it; else the host's
// clock tells.

__global__ void work(const float* x, const float* z, float* y, int n) {
  asm volatile("griddepcontrol.launch_dependents;");
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = x[i] + z[i];
}
__global__ void last(float* y, int n) {
  if (n < 0) y[0] = 0;
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<528, 256>>>(x, z, y, n);
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = 1;
  config.blockDim = 32;
  config.attrs = &attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, last, y, n);
}
