// task: copy
// expect: PLAN
// Harmless: asks the preprocessor what lies on this machine. Nothing of it is there.
#if __has_include("/etc/passwd") || __has_include("/proc/self/maps") || __has_include("/root/.bashrc")
#error there
#endif
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  copy<<<(n * m + 255) / 256, 256>>>(x, y, n * m);
}
