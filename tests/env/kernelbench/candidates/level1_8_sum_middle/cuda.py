# problem: level1/8_sum_middle.py
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

constexpr int kColumns = 32, kRows = 8;

// Each thread sums every eighth row of its column; then eight partial sums make one.
__global__ void sum_kernel(const float* x, float* y, int middle, int width) {
  __shared__ float parts[kRows][kColumns];
  const int lane = threadIdx.x % kColumns, slice = threadIdx.x / kColumns, column = blockIdx.x * kColumns + lane;
  float total = 0;
  if (column < width)
    for (int row = slice; row < middle; row += kRows) total += x[(int64_t(blockIdx.y) * middle + row) * width + column];
  parts[slice][lane] = total;
  __syncthreads();
  if (slice == 0 && column < width) {
    for (int other = 1; other < kRows; ++other) total += parts[other][lane];
    y[int64_t(blockIdx.y) * width + column] = total;
  }
}

torch::Tensor sum_middle(torch::Tensor x) {
  const int middle = int(x.size(1)), width = int(x.size(2));
  auto y = torch::empty({x.size(0), x.size(2)}, x.options());
  const dim3 grid((width + kColumns - 1) / kColumns, unsigned(x.size(0)));
  sum_kernel<<<grid, kColumns * kRows, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), middle, width);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
"""

extension = load_inline(name="sum_middle", cpp_sources="torch::Tensor sum_middle(torch::Tensor x);", cuda_sources=CUDA, functions=["sum_middle"])


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.sum_middle(x)
