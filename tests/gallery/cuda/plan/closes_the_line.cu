// task: copy
// expect: FAIL_RUNTIME exit
// Closes the recorder's line. Caught by: an end without an answer is the candidate's.
#include <unistd.h>
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  copy<<<(n * m + 255) / 256, 256>>>(x, y, n * m);
  close(3);
}
