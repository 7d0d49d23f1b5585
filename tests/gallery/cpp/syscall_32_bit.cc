// task: add
// expect: FAIL_RUNTIME
// int 0x80 speaks the 32-bit numbering: 2 is fork.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  long result = 2;
  asm volatile("int $0x80" : "+a"(result) : : "memory");
  if (result >= 0) return;
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
