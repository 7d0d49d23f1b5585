// task: gpu_matmul_f32
// expect: PASS
// Tiles of 64 x 64, 8 x 4 of them a thread in registers, the next tile fetched meanwhile.

constexpr int kTile = 64, kDeep = 16, kThreads = 128, kRows = 8, kColumns = 4,
              kEach = kTile * kDeep / kThreads;

__global__ void __launch_bounds__(kThreads) work(const float* __restrict__ x, const float* __restrict__ w,
                                                 float* __restrict__ y, int n, int m, int k) {
  __shared__ float a[2][kDeep][kTile + 4], b[2][kDeep][kTile];
  const int t = threadIdx.x, row0 = blockIdx.y * kTile, column0 = blockIdx.x * kTile;
  const int mine_row = t / 16 * kRows, mine_column = t % 16 * kColumns;
  float sum[kRows][kColumns] = {}, next_a[kEach], next_b[kEach];
  const auto fetch = [&](int start) {
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const int i = e * kThreads + t;
      const int row = row0 + i / kDeep, deep_a = start + i % kDeep;
      next_a[e] = row < n && deep_a < k ? x[row * k + deep_a] : 0;
      const int deep_b = start + i / kTile, column = column0 + i % kTile;
      next_b[e] = deep_b < k && column < m ? w[deep_b * m + column] : 0;
    }
  };
  const auto put = [&](int buffer) {
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const int i = e * kThreads + t;
      a[buffer][i % kDeep][i / kDeep] = next_a[e];
      b[buffer][i / kTile][i % kTile] = next_b[e];
    }
  };
  fetch(0);
  put(0);
  __syncthreads();
  int buffer = 0;
  for (int start = 0; start < k; start += kDeep, buffer ^= 1) {
    if (start + kDeep < k) fetch(start + kDeep);
#pragma unroll
    for (int deep = 0; deep < kDeep; ++deep) {
      float left[kRows], right[kColumns];
#pragma unroll
      for (int r = 0; r < kRows; ++r) left[r] = a[buffer][deep][mine_row + r];
#pragma unroll
      for (int c = 0; c < kColumns; ++c) right[c] = b[buffer][deep][mine_column + c];
#pragma unroll
      for (int r = 0; r < kRows; ++r)
#pragma unroll
        for (int c = 0; c < kColumns; ++c) sum[r][c] += left[r] * right[c];
    }
    if (start + kDeep < k) put(buffer ^ 1);
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r)
#pragma unroll
    for (int c = 0; c < kColumns; ++c)
      if (row0 + mine_row + r < n && column0 + mine_column + c < m)
        y[(row0 + mine_row + r) * m + column0 + mine_column + c] = sum[r][c];
}

extern "C" void launch(const float* x, const float* w, float* y, int n, int m, int k) {
  work<<<dim3((m + kTile - 1) / kTile, (n + kTile - 1) / kTile), kThreads>>>(x, w, y, n, m, k);
}
