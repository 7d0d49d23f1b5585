// task: add
// expect: FAIL_COMPILE|FAIL_RUNTIME
// Not a function, though it is declared as one.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m);
asm(".globl kernel\n.data\nkernel: .quad 0\n.text");
