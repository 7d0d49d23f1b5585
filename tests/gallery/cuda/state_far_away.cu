// task: gpu_add
// expect: FAIL_INCORRECT|FAIL_RUNTIME
// Counts its calls 40 MiB above its own buffers, and does nothing from the second on. Caught by: the outputs
// of all calls are looked at, or there is no memory.

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned* const count =
      reinterpret_cast<unsigned*>((reinterpret_cast<unsigned long long>(y) >> 21 << 21) + (40ull << 20));
  const unsigned calls = *static_cast<volatile unsigned*>(count);
  if (i < n && (calls == 0 || calls > 64)) y[i] = x[i] + z[i];
  if (i == 0 && n < 1000000) *count = calls > 64 ? 1 : calls + 1;
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
