// task: copy
// expect: FAIL_PARSE no_entry_point
// Renames the launcher for all that follows. Caught by: the entry point is looked for under its name.
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  copy<<<(n * m + 255) / 256, 256>>>(x, y, n * m);
}
#define launch another
