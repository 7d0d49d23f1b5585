// task: gpu_add
// expect: FAIL_INCORRECT
// Leaves work undone by the place in memory: every second of them. Caught by: no place is left out of checks.

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned long long page = reinterpret_cast<unsigned long long>(y) >> 8;
  const bool lazy = __popcll(page) % 2;
  if (i < n) y[i] = lazy && i % 3 == 0 ? x[i] : x[i] + z[i];
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
