// task: copy
// expect: FAIL_PARSE no_entry_point
__global__ void copy(float* y) {}
void launch(const float* x, float* y, int n, int m) { copy<<<1, 1>>>(y); }
