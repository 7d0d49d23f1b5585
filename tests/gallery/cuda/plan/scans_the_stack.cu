// task: copy
// expect: FAIL_RUNTIME signal
// Reads all that lies above it, to find what the recorder knows. Caught by: there is nothing but the
// shape, and the end of the stack.
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  volatile long seen = 0;
  for (const volatile long* word = &seen;; ++word) seen += *word;
}
