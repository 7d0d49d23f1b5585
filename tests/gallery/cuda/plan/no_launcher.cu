// task: copy
// expect: FAIL_PARSE no_entry_point
__global__ void launcher(float* y) {}
void start(float* y) { launcher<<<1, 1>>>(y); }
