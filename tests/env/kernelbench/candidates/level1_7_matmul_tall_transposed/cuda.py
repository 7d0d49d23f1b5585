# problem: level1/7_matmul_tall_transposed.py
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

__global__ void product_kernel(const float* a, const float* b, float* c, int m, int n, int k, int b_inner, int b_column) {
  float total[4][4] = {};
  tile_product(a, b, m, n, k, b_inner, b_column, total);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      const int row = blockIdx.y * kTile + threadIdx.x / 16 + 16 * i, column = blockIdx.x * kTile + threadIdx.x % 16 + 16 * j;
      if (row < m && column < n) c[int64_t(row) * n + column] = total[i][j];
    }
}

torch::Tensor product(torch::Tensor a, torch::Tensor b) {
  const int m = int(a.size(0)), k = int(a.size(1)), n = int(b.size(1));
  auto c = torch::empty({m, n}, a.options());
  const dim3 grid((n + kTile - 1) / kTile, (m + kTile - 1) / kTile);
  product_kernel<<<grid, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), m, n, k,
                                                                      int(b.stride(0)), int(b.stride(1)));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return c;
}
"""

extension = load_inline(name="matmul_tall", cpp_sources="torch::Tensor product(torch::Tensor a, torch::Tensor b);", cuda_sources=CUDA, functions=["product"])


class ModelNew(nn.Module):
    def forward(self, a, b):
        return extension.product(a, b.t())
