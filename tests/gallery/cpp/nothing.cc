// task: add
// expect: FAIL_INCORRECT unwritten
// Hopes that the right answer lies in memory.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {}
