// task: gpu_add
// expect: FAIL_RUNTIME misaligned_address
// A vector at an odd place.

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) *reinterpret_cast<float4*>(y + 1) = *reinterpret_cast<const float4*>(x);
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
