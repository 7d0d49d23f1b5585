// task: gpu_add
// expect: FAIL_INCORRECT|FAIL_RUNTIME
// Takes the answer from where the last call had its buffers, a layout further down. Caught by: that one was
// to other inputs; below the first place there is no memory.

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const auto guard = [](size_t bytes) { return (bytes + 65536 + 255) / 256 * 256; };
  const size_t bytes = guard(4 * size_t(n)) * 3 + 65536;
  if (i < n) y[i] = *reinterpret_cast<const float*>(reinterpret_cast<const char*>(y + i) - bytes);
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
