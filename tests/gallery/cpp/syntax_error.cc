// task: add
// expect: FAIL_COMPILE compile_error
// message: line 7: expected primary-expression before ';' token
// Syntax error.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  y[0] = x[0] + ;
}
