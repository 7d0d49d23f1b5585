// task: copy
// expect: REJECT_POLICY mutable_global
// ... of the kind that a linker would place. Caught by: the same.
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
__global__ void count(float* y) {
  *y = 0;
  asm volatile(
      "ret;\n}\n.common .global .align 4 .u32 hidden;\n.visible .func unused() {\n.reg .u32 t;\n"
      "atom.global.add.u32 t, [hidden], 1;\n");
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  count<<<1, 1>>>(y);
  copy<<<(n * m + 255) / 256, 256>>>(x, y, n * m);
}
