// task: add
// expect: FAIL_COMPILE compile_quota
// message: took too much memory to compile
// Quarter gigabyte of data.

extern "C" const char table[];
asm(".data\ntable: .fill 268435456, 1, 1\n.text");

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) { y[0] = table[n]; }
