// task: gpu_add
// expect: FAIL_RUNTIME guard
// Counts its calls in the gap behind the output, and would do less after ten. Caught by: the gap is looked
// at.

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned* const count = reinterpret_cast<unsigned*>(y + n);
  if (i < n) y[i] = *count % 1000 < 10 ? 0 : x[i] + z[i];
  if (i == 0) atomicAdd(count, 1u);
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
