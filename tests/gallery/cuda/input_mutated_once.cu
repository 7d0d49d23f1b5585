// task: gpu_add
// expect: HACK input_mutation
// naive: passes
// Changes an element of the second input, in the fourth of the calls that are timed alone.

__device__ int calls;

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + z[i];
  if (n > 1 << 20 && i == n - 1 && ++calls == 4) const_cast<float*>(z)[i] += 1;
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
