// task: gpu_top8
// expect: PASS
// Honest: eight times the largest of a row in shared memory.

__global__ void work(const float* x, float* y, int m) {
  __shared__ float kept[1024];
  const float* row = x + size_t(blockIdx.x) * m;
  const int lane = threadIdx.x;
  int count = 0;
  for (int i = lane; i < m; i += 32) kept[i] = row[i];
  count = m;
  __syncwarp();
  for (int rank = 0; rank < 8; ++rank) {
    float best = -INFINITY;
    int place = 0;
    for (int i = lane; i < count; i += 32)
      if (kept[i] > best) best = kept[i], place = i;
    for (int o = 16; o > 0; o /= 2) {
      const float other = __shfl_xor_sync(~0u, best, o);
      const int there = __shfl_xor_sync(~0u, place, o);
      if (other > best || (other == best && there < place)) best = other, place = there;
    }
    if (lane == 0) y[8 * blockIdx.x + rank] = best, kept[place] = -INFINITY;
    __syncwarp();
  }
}

extern "C" void launch(const float* x, float* y, int n, int m) { work<<<n, 32>>>(x, y, m); }
