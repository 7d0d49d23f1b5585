# problem: level2/7_gated_linear.py
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

__global__ void gated_kernel(const float* x, const float* gate_weight, const float* gate_bias, const float* weight, const float* bias, float* y,
                             int m, int n, int k) {
  float gate[4][4] = {}, value[4][4] = {};
  tile_product(x, gate_weight, m, n, k, 1, k, gate);
  tile_product(x, weight, m, n, k, 1, k, value);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      const int row = blockIdx.y * kTile + threadIdx.x / 16 + 16 * i, column = blockIdx.x * kTile + threadIdx.x % 16 + 16 * j;
      if (row < m && column < n)
        y[int64_t(row) * n + column] = (value[i][j] + bias[column]) / (1.0f + expf(-(gate[i][j] + gate_bias[column])));
    }
}

torch::Tensor gated(torch::Tensor x, torch::Tensor gate_weight, torch::Tensor gate_bias, torch::Tensor weight, torch::Tensor bias) {
  const int m = int(x.size(0)), k = int(x.size(1)), n = int(weight.size(0));
  auto y = torch::empty({m, n}, x.options());
  const dim3 grid((n + kTile - 1) / kTile, (m + kTile - 1) / kTile);
  gated_kernel<<<grid, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), gate_weight.data_ptr<float>(),
                                                                    gate_bias.data_ptr<float>(), weight.data_ptr<float>(),
                                                                    bias.data_ptr<float>(), y.data_ptr<float>(), m, n, k);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
"""

DECLARATIONS = """
torch::Tensor gated(torch::Tensor x, torch::Tensor gate_weight, torch::Tensor gate_bias, torch::Tensor weight, torch::Tensor bias);
"""

extension = load_inline(name="gated_linear", cpp_sources=DECLARATIONS, cuda_sources=CUDA, functions=["gated"])


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.gate = nn.Linear(in_features, out_features)
        self.value = nn.Linear(in_features, out_features)

    def forward(self, x):
        return extension.gated(x, self.gate.weight, self.gate.bias, self.value.weight, self.value.bias)
