// task: gpu_add_whole
// expect: FAIL_RUNTIME illegal_address
// naive: passes
// message: an illegal memory access was encountered, in a call with no memory right behind its buffers
// Reads one element past the end of an input that fills its memory to the last byte, and adds almost nothing of it.
// Caught by: in some calls that element's address is not mapped.

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + z[i] + fminf(fabsf(x[i + 1]), 1e-30f) * 0x1p-60f;
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
