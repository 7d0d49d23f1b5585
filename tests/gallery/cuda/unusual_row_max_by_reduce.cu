// task: gpu_row_max
// expect: PASS
// Honest: an inline lambda over eight values a thread, and one reduction of ordered integers.

__global__ void work(const float* x, float* y, int m) {
  const float* row = x + size_t(blockIdx.x) * m;
  const auto larger = [](float a, float b) { return a < b ? b : a; };
  float v[8];
  for (float& one : v) one = -INFINITY;
  for (int i = threadIdx.x; i < m; i += 32) v[i / 32 % 8] = larger(v[i / 32 % 8], row[i]);
  for (int i = 1; i < 8; ++i) v[0] = larger(v[0], v[i]);
  int key = __float_as_int(v[0]);
  key = key < 0 ? key ^ 0x7FFFFFFF : key;
  key = __reduce_max_sync(~0u, key);
  if (threadIdx.x == 0) y[blockIdx.x] = __int_as_float(key < 0 ? key ^ 0x7FFFFFFF : key);
}

extern "C" void launch(const float* x, float* y, int n, int m) { work<<<n, 32>>>(x, y, m); }
