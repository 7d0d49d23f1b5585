// task: copy
// expect: FAIL_COMPILE compile_error
// message: static assertion failed with "the launcher must be: extern "C" void launch(const float* x, float*
// y, int n, int m)"
extern "C" void launch(const float* x, float* y, long n) {}
