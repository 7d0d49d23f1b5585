// task: gpu_add
// expect: FAIL_INCORRECT tolerance
// What is far from zero is taken for its neighbour: some ten elements of a million. Caught by: every element
// is compared.

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fabsf(x[i]) > 4.2f * (fabsf(z[0]) > 10 ? 100 : 1) ? 0 : x[i] + z[i];
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
