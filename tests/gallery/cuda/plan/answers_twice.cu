// task: copy
// expect: FAIL_PLAN protocol
// A word too much on the recorder's line. Caught by: a message that is none.
#include <unistd.h>
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  write(3, "done", 4);
  copy<<<(n * m + 255) / 256, 256>>>(x, y, n * m);
}
