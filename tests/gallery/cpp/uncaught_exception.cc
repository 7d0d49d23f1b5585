// task: add
// expect: FAIL_RUNTIME signal_6
// Uncaught exception.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) { throw 1; }
