// task: copy
// expect: FAIL_RUNTIME|FAIL_TIMEOUT
#include <vector>
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  std::vector<std::vector<char>> all;
  for (;;) all.emplace_back(64 << 20, 1);
}
