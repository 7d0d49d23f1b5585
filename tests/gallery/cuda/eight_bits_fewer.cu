// task: gpu_add
// expect: FAIL_INCORRECT tolerance
// Drops the last eight bits of the inputs. Caught by: an error beyond the bound of f32.

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const auto shorter = [](float v) { return __uint_as_float(__float_as_uint(v) & 0xFFFFFF00u); };
  if (i < n) y[i] = shorter(x[i]) + shorter(z[i]);
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
