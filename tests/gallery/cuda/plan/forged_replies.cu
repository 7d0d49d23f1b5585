// task: copy
// expect: FAIL_PLAN|FAIL_RUNTIME
#include <unistd.h>
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  char frame[600] = {'T', 'P', 'M', 'R', 1};
  for (int fd = 0; fd < 32; ++fd) write(fd, frame, sizeof frame);
  _exit(0);
}
