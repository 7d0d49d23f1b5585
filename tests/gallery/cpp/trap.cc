// task: add
// expect: FAIL_RUNTIME signal_
// Trap.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) { __builtin_trap(); }
