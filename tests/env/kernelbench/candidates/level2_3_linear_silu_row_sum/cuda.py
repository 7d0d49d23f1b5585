# problem: level2/3_linear_silu_row_sum.py
# backend: cuda
# strict: PASS
# comparable: correct
# why: right, in CUDA
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

constexpr int kTile = 64, kInner = 16;  // a block of 256 threads makes a tile of 64 rows and columns

// total[i][j]: row blockIdx.y kTile + threadIdx.x / 16 + 16 i and column blockIdx.x kTile + threadIdx.x % 16 + 16 j of the product.
__device__ void tile_product(const float* a, const float* b, int m, int n, int k, int b_inner, int b_column, float (&total)[4][4]) {
  __shared__ float left[kInner][kTile + 1], right[kInner][kTile + 1];
  const int first_row = blockIdx.y * kTile, first_column = blockIdx.x * kTile;
  for (int start = 0; start < k; start += kInner) {
    for (int at = threadIdx.x; at < kTile * kInner; at += 256) {
      const int line = at / kInner, inner = at % kInner;
      const int row = first_row + line, column = first_column + line, from = start + inner;
      left[inner][line] = row < m && from < k ? a[int64_t(row) * k + from] : 0.0f;
      right[inner][line] = column < n && from < k ? b[int64_t(from) * b_inner + int64_t(column) * b_column] : 0.0f;
    }
    __syncthreads();
    for (int inner = 0; inner < kInner; ++inner)
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
          total[i][j] += left[inner][threadIdx.x / 16 + 16 * i] * right[inner][threadIdx.x % 16 + 16 * j];
    __syncthreads();
  }
}

// parts[row, blockIdx.x]: the row's sum over the tile's columns.
__global__ void parts_kernel(const float* x, const float* weight, const float* bias, float* parts, int m, int n, int k) {
  float total[4][4] = {};
  tile_product(x, weight, m, n, k, 1, k, total);
  for (int i = 0; i < 4; ++i) {
    const int row = blockIdx.y * kTile + threadIdx.x / 16 + 16 * i;
    float sum = 0;
    for (int j = 0; j < 4; ++j) {
      const int column = blockIdx.x * kTile + threadIdx.x % 16 + 16 * j;
      const float value = column < n ? total[i][j] + bias[column] : 0.0f;
      sum += value / (1.0f + expf(-value));
    }
    for (int step = 8; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (row < m && threadIdx.x % 16 == 0) parts[int64_t(row) * gridDim.x + blockIdx.x] = sum;
  }
}

torch::Tensor row_sums(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
  const int m = int(x.size(0)), k = int(x.size(1)), n = int(weight.size(0)), tiles = (n + kTile - 1) / kTile;
  auto parts = torch::empty({m, tiles}, x.options());
  const dim3 grid(tiles, (m + kTile - 1) / kTile);
  parts_kernel<<<grid, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(),
                                                                    parts.data_ptr<float>(), m, n, k);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return parts.sum(1, true);
}
"""

DECLARATIONS = """
torch::Tensor row_sums(torch::Tensor x, torch::Tensor weight, torch::Tensor bias);
"""

extension = load_inline(name="linear_silu_row_sum", cpp_sources=DECLARATIONS, cuda_sources=CUDA, functions=["row_sums"])


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        return extension.row_sums(x, self.linear.weight, self.linear.bias)
