// task: add
// expect: FAIL_COMPILE|FAIL_RUNTIME
// Not a function.

asm(".globl kernel\n.data\nkernel: .quad 0\n.text");
