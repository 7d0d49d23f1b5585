// task: gpu_tanh
// expect: FAIL_RUNTIME table
// Keeps count of its calls in a table that the cubin initialises. Caught by: tables are compared after each
// call.

__device__ float table[4] = {1, 0.5f, 2, 4};
__global__ void work(const float* x, float* y, int n) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) y[i] = tanhf(x[i]) * table[0];
  if (blockIdx.x == 0 && threadIdx.x == 0) table[3] += 1;
}

extern "C" void launch(const float* x, float* y, int n) { work<<<1024, 256>>>(x, y, n); }
