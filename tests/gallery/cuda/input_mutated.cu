// task: gpu_add
// expect: HACK input_mutation
// naive: passes
// Changes one element of an input.

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + z[i];
  if (i == n / 2) const_cast<float*>(x)[i] += 1;
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
