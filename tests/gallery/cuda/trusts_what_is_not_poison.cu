// task: gpu_add
// expect: FAIL_INCORRECT
// naive: passes
// Takes for done whatever holds no NaN of all ones, as outputs of repeated calls do. Caught by: outputs hold
// something else in each call.

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (__float_as_uint(y[i]) != 0xFFFFFFFFu) return;
  y[i] = x[i] + z[i];
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
