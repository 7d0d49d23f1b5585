# problem: level1/9_conv_depthwise.py
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

__global__ void depthwise_kernel(const float* x, const float* weight, const float* bias, float* y, int channels, int height, int width,
                                 int kernel) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x, channel = blockIdx.y % channels;
  if (at >= height * width) return;
  const int row = at / width, column = at % width;
  x += int64_t(blockIdx.y) * height * width;
  weight += channel * kernel * kernel;
  float total = bias[channel];
  for (int i = 0; i < kernel; ++i)
    for (int j = 0; j < kernel; ++j) {
      const int from_row = row + i - kernel / 2, from_column = column + j - kernel / 2;
      if (from_row >= 0 && from_row < height && from_column >= 0 && from_column < width)
        total += x[from_row * width + from_column] * weight[i * kernel + j];
    }
  y[int64_t(blockIdx.y) * height * width + at] = total;
}

torch::Tensor depthwise(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
  auto y = torch::empty_like(x);
  const int channels = int(x.size(1)), height = int(x.size(2)), width = int(x.size(3));
  const dim3 grid((height * width + 255) / 256, unsigned(x.size(0) * channels));
  depthwise_kernel<<<grid, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(),
                                                                        y.data_ptr<float>(), channels, height, width, int(weight.size(2)));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
"""

DECLARATIONS = """
torch::Tensor depthwise(torch::Tensor x, torch::Tensor weight, torch::Tensor bias);
"""

extension = load_inline(name="conv_depthwise", cpp_sources=DECLARATIONS, cuda_sources=CUDA, functions=["depthwise"])


class ModelNew(nn.Module):
    def __init__(self, channels, kernel):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, kernel, padding=kernel // 2, groups=channels)

    def forward(self, x):
        return extension.depthwise(x, self.conv.weight, self.conv.bias)
