// task: add
// expect: FAIL_RUNTIME load_error
// message: undefined symbol: nowhere
// A function that is nowhere.

extern "C" int nowhere(int);

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) { y[0] = nowhere(n); }
