// task: copy
// expect: REJECT_POLICY mutable_global
// A variable that PTX alone knows, let in behind the end of a function. Caught by: the gate reads the
// variables of the cubin.
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
__global__ void count(float* y) {
  *y = 0;
  asm volatile(
      "ret;\n}\n.visible .global .align 4 .u32 hidden;\n.visible .func unused() {\n.reg .u32 t;\n"
      "atom.global.add.u32 t, [hidden], 1;\n");
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  count<<<1, 1>>>(y);
  copy<<<(n * m + 255) / 256, 256>>>(x, y, n * m);
}
