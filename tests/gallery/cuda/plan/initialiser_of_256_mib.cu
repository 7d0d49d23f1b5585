// task: copy
// expect: FAIL_COMPILE compile_quota
__device__ char big[256 << 20] = {1};
extern "C" void launch(const float* x, float* y, int n, int m) {}
