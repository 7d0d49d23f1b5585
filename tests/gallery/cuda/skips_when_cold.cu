// task: gpu_add
// expect: FAIL_INCORRECT
// Takes the time of a load: where the cache is cold it is a timed call, and half is left undone. Caught by:
// timed calls are the checked ones.

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const long long before = clock64();
  const float first = *static_cast<const volatile float*>(x + i);
  __nanosleep(__float_as_int(first) == 0x7FEDCBA9);  // not before it has arrived
  const bool cold = clock64() - before > 500;
  y[i] = cold && i % 2 ? 0 : first + z[i];
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
