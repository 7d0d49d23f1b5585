# problem: level1/8_sum_middle.py
# backend: cuda
# strict: PASS
# comparable: correct
# why: Sums by atomic additions, whose last bits differ from run to run.
# runs_on: cuda
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

__global__ void sum_kernel(const float* x, float* y, int middle, int width, int rows) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.y * rows;
  if (column >= width) return;
  float total = 0;
  for (int row = first; row < min(first + rows, middle); ++row) total += x[(int64_t(blockIdx.z) * middle + row) * width + column];
  atomicAdd(y + int64_t(blockIdx.z) * width + column, total);
}

torch::Tensor sums(torch::Tensor x) {
  auto y = torch::zeros({x.size(0), x.size(2)}, x.options());
  const int middle = int(x.size(1)), width = int(x.size(2)), rows = 128;
  const dim3 grid((width + 255) / 256, (middle + rows - 1) / rows, unsigned(x.size(0)));
  sum_kernel<<<grid, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), middle, width, rows);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
"""

extension = load_inline(name="atomic_sums", cpp_sources="torch::Tensor sums(torch::Tensor x);", cuda_sources=CUDA, functions=["sums"])


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.sums(x)
