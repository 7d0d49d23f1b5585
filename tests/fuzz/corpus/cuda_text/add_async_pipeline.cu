// task: gpu_add
// expect: PASS
// Honest: cp.async into two stages of shared memory, one ahead of the sums.

constexpr int T = 256;

__device__ void fetch(float* to, const float* from, bool there) {
  const unsigned shared = unsigned(__cvta_generic_to_shared(to));
  const int bytes = there ? 4 : 0;  // the rest is zero
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared), "l"(from), "r"(bytes));
}
__global__ void work(const float* x, const float* z, float* y, int n) {
  __shared__ float sx[2][T], sz[2][T];
  const int step = gridDim.x * T;
  int i = blockIdx.x * T + threadIdx.x;
  const auto load = [&](int stage, int at) {
    fetch(&sx[stage][threadIdx.x], at < n ? x + at : x, at < n);
    fetch(&sz[stage][threadIdx.x], at < n ? z + at : z, at < n);
    asm volatile("cp.async.commit_group;");
  };
  load(0, i);
  for (int stage = 0; i < n; i += step, stage ^= 1) {
    load(stage ^ 1, i + step);
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    y[i] = sx[stage][threadIdx.x] + sz[stage][threadIdx.x];
  }
}

extern "C" void launch(const float* x, const float* z, float* y, int n) { work<<<1056, T>>>(x, z, y, n); }
