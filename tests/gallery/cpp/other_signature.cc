// task: add
// expect: FAIL_COMPILE compile_error
// Other signature.

extern "C" void kernel(const float* x, const float* z, double* y, int n, int m) { y[0] = x[0] + z[0]; }
