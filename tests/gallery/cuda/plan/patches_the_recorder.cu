// task: copy
// expect: PLAN
// Harmless: overwrites code of the recorder that it runs in. All that can come out is a plan, and that is
// checked elsewhere.
#include <sys/mman.h>
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  auto* code = (unsigned char*)&cudaGetDeviceCount;
  auto* page = (unsigned char*)((unsigned long)code & ~4095ul);
  if (mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) == 0) *code = 0xC3;
  copy<<<(n * m + 255) / 256, 256>>>(x, y, n * m);
}
