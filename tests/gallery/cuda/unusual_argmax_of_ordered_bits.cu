// task: gpu_argmax
// expect: PASS
// Honest: bits in an order that integers have, with the place below, as one word of 64.

__device__ unsigned ordered(float value) {
  const unsigned bits = __float_as_uint(value);
  return bits >> 31 ? ~bits : bits | 0x80000000u;
}
__global__ void work(const float* x, int* y, int m) {
  unsigned long long best = 0;
  for (int i = threadIdx.x; i < m; i += 32) {
    const auto mine = static_cast<unsigned long long>(ordered(x[size_t(blockIdx.x) * m + i])) << 32 | unsigned(~i);
    best = mine > best ? mine : best;
  }
  for (int o = 16; o > 0; o /= 2) {
    const unsigned long long other = __shfl_xor_sync(~0u, best, o);
    best = other > best ? other : best;
  }
  if (threadIdx.x == 0) y[blockIdx.x] = int(~unsigned(best));
}

extern "C" void launch(const float* x, int* y, int n, int m) { work<<<n, 32>>>(x, y, m); }
