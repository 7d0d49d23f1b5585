// task: copy
// expect: FAIL_RUNTIME forbidden_call
// Asks to trace its parent. Caught by: the system calls that it may make.
#include <sys/ptrace.h>
#include <unistd.h>
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  ptrace(PTRACE_ATTACH, getppid(), 0, 0);
  copy<<<(n * m + 255) / 256, 256>>>(x, y, n * m);
}
