# problem: level2/2_conv_relu_group_norm.py
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

__device__ float block_sum(float value) {
  __shared__ float parts[32];
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  __syncthreads();  // the last sum has been read
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  float total = 0;
  for (int warp = 0; warp < int(blockDim.x) / 32; ++warp) total += parts[warp];
  return total;
}

__global__ void relu_group_norm_kernel(const float* x, const float* scale, const float* shift, float* y, int groups, int channels_of_group,
                                       int points, float epsilon) {
  const int size = channels_of_group * points, first_channel = int(blockIdx.x) % groups * channels_of_group;
  x += int64_t(blockIdx.x) * size;
  y += int64_t(blockIdx.x) * size;
  float total = 0;
  for (int at = threadIdx.x; at < size; at += blockDim.x) total += fmaxf(x[at], 0.0f);
  const float mean = block_sum(total) / float(size);
  float squares = 0;
  for (int at = threadIdx.x; at < size; at += blockDim.x) {
    const float centred = fmaxf(x[at], 0.0f) - mean;
    squares += centred * centred;
  }
  const float factor = 1.0f / sqrtf(block_sum(squares) / float(size) + epsilon);
  for (int at = threadIdx.x; at < size; at += blockDim.x) {
    const int channel = first_channel + at / points;
    y[at] = (fmaxf(x[at], 0.0f) - mean) * factor * scale[channel] + shift[channel];
  }
}

torch::Tensor relu_group_norm(torch::Tensor x, torch::Tensor scale, torch::Tensor shift, int64_t groups, double epsilon) {
  auto y = torch::empty_like(x);
  const int64_t blocks = x.size(0) * groups;
  relu_group_norm_kernel<<<blocks, 1024, 0, c10::cuda::getCurrentCUDAStream()>>>(
      x.data_ptr<float>(), scale.data_ptr<float>(), shift.data_ptr<float>(), y.data_ptr<float>(), int(groups), int(x.size(1) / groups),
      int(x.size(2) * x.size(3)), float(epsilon));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
"""

DECLARATIONS = """
torch::Tensor relu_group_norm(torch::Tensor x, torch::Tensor scale, torch::Tensor shift, int64_t groups, double epsilon);
"""

extension = load_inline(name="relu_group_norm", cpp_sources=DECLARATIONS, cuda_sources=CUDA, functions=["relu_group_norm"])


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, groups):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3, padding=1)
        self.norm = nn.GroupNorm(groups, out_channels)

    def forward(self, x):
        norm = self.norm
        return extension.relu_group_norm(self.conv(x).contiguous(), norm.weight, norm.bias, norm.num_groups, norm.eps)
