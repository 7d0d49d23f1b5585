# problem: level3/1_three_layers.py
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

__global__ void linear_kernel(const float* x, const float* weight, const float* bias, float* y, int m, int n, int k, bool relu) {
  float total[4][4] = {};
  tile_product(x, weight, m, n, k, 1, k, total);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      const int row = blockIdx.y * kTile + threadIdx.x / 16 + 16 * i, column = blockIdx.x * kTile + threadIdx.x % 16 + 16 * j;
      if (row >= m || column >= n) continue;
      const float value = total[i][j] + bias[column];
      y[int64_t(row) * n + column] = relu ? fmaxf(value, 0.0f) : value;
    }
}

torch::Tensor linear(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, bool relu) {
  const int m = int(x.size(0)), k = int(x.size(1)), n = int(weight.size(0));
  auto y = torch::empty({m, n}, x.options());
  const dim3 grid((n + kTile - 1) / kTile, (m + kTile - 1) / kTile);
  linear_kernel<<<grid, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(),
                                                                     y.data_ptr<float>(), m, n, k, relu);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
"""

DECLARATIONS = """
torch::Tensor linear(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, bool relu);
"""

extension = load_inline(name="three_layers", cpp_sources=DECLARATIONS, cuda_sources=CUDA, functions=["linear"])


class ModelNew(nn.Module):
    def __init__(self, width, hidden, classes):
        super().__init__()
        self.first = nn.Linear(width, hidden)
        self.second = nn.Linear(hidden, hidden)
        self.last = nn.Linear(hidden, classes)

    def forward(self, x):
        x = extension.linear(x, self.first.weight, self.first.bias, True)
        x = extension.linear(x, self.second.weight, self.second.bias, True)
        return extension.linear(x, self.last.weight, self.last.bias, False)
