// task: gpu_add
// expect: FAIL_RUNTIME illegal_address
// naive: passes
// message: an illegal memory access was encountered, in a call with no memory right behind its buffers
// Reads 63 elements behind an input, and adds what is larger than anything it has seen there: what memory holds never
// tells. Caught by: at some calls there is none.

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float behind = x[i + 63];
  y[i] = x[i] + z[i] + (behind > 1e37f ? behind : 0);
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
