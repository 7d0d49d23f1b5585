# problem: level1/10_max_pool.py
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

__global__ void pool_kernel(const float* x, float* y, int height, int width, int out_height, int out_width, int kernel, int stride, int padding) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= out_height * out_width) return;
  x += int64_t(blockIdx.y) * height * width;
  const int row = at / out_width * stride - padding, column = at % out_width * stride - padding;
  float best = -INFINITY;
  for (int i = max(row, 0); i < min(row + kernel, height); ++i)
    for (int j = max(column, 0); j < min(column + kernel, width); ++j) {
      const float value = x[i * width + j];
      if (value > best || value != value) best = value;  // NaN stays
    }
  y[int64_t(blockIdx.y) * out_height * out_width + at] = best;
}

torch::Tensor max_pool(torch::Tensor x, int64_t kernel, int64_t stride, int64_t padding) {
  const int height = int(x.size(2)), width = int(x.size(3));
  const int out_height = int((height + 2 * padding - kernel) / stride + 1), out_width = int((width + 2 * padding - kernel) / stride + 1);
  auto y = torch::empty({x.size(0), x.size(1), out_height, out_width}, x.options());
  const dim3 grid((out_height * out_width + 255) / 256, unsigned(x.size(0) * x.size(1)));
  pool_kernel<<<grid, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), height, width, out_height,
                                                                   out_width, int(kernel), int(stride), int(padding));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
"""

DECLARATIONS = """
torch::Tensor max_pool(torch::Tensor x, int64_t kernel, int64_t stride, int64_t padding);
"""

extension = load_inline(name="max_pool", cpp_sources=DECLARATIONS, cuda_sources=CUDA, functions=["max_pool"])


class ModelNew(nn.Module):
    def __init__(self, kernel, stride, padding):
        super().__init__()
        self.window = (kernel, stride, padding)

    def forward(self, x):
        return extension.max_pool(x, *self.window)
