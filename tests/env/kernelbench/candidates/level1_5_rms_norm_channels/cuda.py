# problem: level1/5_rms_norm_channels.py
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

// A thread takes one point of one image, and neighbours are neighbours in memory.
__global__ void rms_norm_kernel(const float* x, const float* scale, float* y, int channels, int points, float epsilon) {
  const int point = blockIdx.x * blockDim.x + threadIdx.x;
  if (point >= points) return;
  const int64_t first = int64_t(blockIdx.y) * channels * points + point;
  float squares = 0;
  for (int channel = 0; channel < channels; ++channel) {
    const float value = x[first + int64_t(channel) * points];
    squares += value * value;
  }
  const float factor = 1.0f / sqrtf(squares / float(channels) + epsilon);
  for (int channel = 0; channel < channels; ++channel) {
    const int64_t at = first + int64_t(channel) * points;
    y[at] = x[at] * factor * scale[channel];
  }
}

torch::Tensor rms_norm(torch::Tensor x, torch::Tensor scale, double epsilon) {
  auto y = torch::empty_like(x);
  const int channels = int(x.size(1)), points = int(x.size(2) * x.size(3));
  const dim3 grid((points + 255) / 256, unsigned(x.size(0)));
  rms_norm_kernel<<<grid, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), scale.data_ptr<float>(), y.data_ptr<float>(),
                                                                       channels, points, float(epsilon));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
"""

DECLARATIONS = """
torch::Tensor rms_norm(torch::Tensor x, torch::Tensor scale, double epsilon);
"""

extension = load_inline(name="rms_norm_channels", cpp_sources=DECLARATIONS, cuda_sources=CUDA, functions=["rms_norm"])


class ModelNew(nn.Module):
    def __init__(self, channels, epsilon):
        super().__init__()
        self.epsilon = epsilon
        self.scale = nn.Parameter(torch.rand(channels) + 0.5)

    def forward(self, x):
        return extension.rms_norm(x, self.scale, self.epsilon)
