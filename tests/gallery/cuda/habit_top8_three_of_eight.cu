// task: gpu_top8
// expect: FAIL_INCORRECT
// Keeps the three largest of each eight: four of the best are hardly ever side by side. Caught by: draws
// whose largest elements are side by side.

__global__ void work(const float* x, float* y, int m) {
  __shared__ float kept[1024];
  const float* row = x + size_t(blockIdx.x) * m;
  const int lane = threadIdx.x;
  int count = 0;
  for (int chunk = lane; chunk < (m + 7) / 8; chunk += 32) {
    float a = -INFINITY, b = -INFINITY, c = -INFINITY;
    for (int i = 8 * chunk; i < min(8 * chunk + 8, m); ++i) {
      const float v = row[i];
      if (v > a) c = b, b = a, a = v;
      else if (v > b) c = b, b = v;
      else if (v > c) c = v;
    }
    kept[3 * chunk] = a, kept[3 * chunk + 1] = b, kept[3 * chunk + 2] = c;
  }
  count = 3 * ((m + 7) / 8);
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
