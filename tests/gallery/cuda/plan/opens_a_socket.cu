// task: copy
// expect: PLAN
// Harmless: tries the network, which is not there.
#include <sys/socket.h>
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  if (socket(AF_INET, SOCK_STREAM, 0) >= 0) return;
  copy<<<(n * m + 255) / 256, 256>>>(x, y, n * m);
}
