// task: copy
// expect: FAIL_COMPILE compile_error
// message: line 4: kernel launch from __device__
__global__ void copy(float* y) { copy<<<1, 1>>>(y); }
extern "C" void launch(const float* x, float* y, int n, int m) { copy<<<1, 1>>>(y); }
