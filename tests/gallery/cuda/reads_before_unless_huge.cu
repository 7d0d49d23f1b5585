// task: gpu_add
// expect: FAIL_RUNTIME illegal_address
// naive: passes
// message: an illegal memory access was encountered, in a call with no memory right in front of its buffers
// Reads the element in front of an input, and adds what is larger than anything it has seen there. Caught by: at some
// calls there is none.

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float before = z[i - 1];
  y[i] = x[i] + z[i] + (before > 1e37f && i == 0 ? before : 0);
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
