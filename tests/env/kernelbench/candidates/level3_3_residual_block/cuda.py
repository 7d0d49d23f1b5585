# problem: level3/3_residual_block.py
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

// The mean of each plane, and the sum of the squares about it.
__global__ void statistics_kernel(const float* x, float* means, float* squares, int points) {
  x += int64_t(blockIdx.x) * points;
  float total = 0;
  for (int at = threadIdx.x; at < points; at += blockDim.x) total += x[at];
  const float mean = block_sum(total) / float(points);
  float square = 0;
  for (int at = threadIdx.x; at < points; at += blockDim.x) square += (x[at] - mean) * (x[at] - mean);
  square = block_sum(square);
  if (threadIdx.x == 0) means[blockIdx.x] = mean, squares[blockIdx.x] = square;
}

// The channel's mean and one over its deviation, from those of its planes.
__device__ float2 channel_statistics(const float* means, const float* squares, int channel, int batch, int channels, int points,
                                     float epsilon) {
  float mean = 0, square = 0;
  for (int image = 0; image < batch; ++image) mean += means[image * channels + channel];
  mean /= float(batch);
  for (int image = 0; image < batch; ++image) {
    const float between = means[image * channels + channel] - mean;
    square += squares[image * channels + channel] + between * between * float(points);
  }
  return make_float2(mean, 1.0f / sqrtf(square / (float(batch) * float(points)) + epsilon));
}

__global__ void normalise_kernel(const float* x, const float* means, const float* squares, const float* scale, const float* shift,
                                 const float* added, float* y, int batch, int channels, int points, float epsilon) {
  const int channel = int(blockIdx.x) % channels;
  const float2 found = channel_statistics(means, squares, channel, batch, channels, points, epsilon);
  const int64_t first = int64_t(blockIdx.x) * points;
  for (int at = threadIdx.x; at < points; at += blockDim.x) {
    float value = (x[first + at] - found.x) * found.y * scale[channel] + shift[channel];
    if (added) value += added[first + at];
    y[first + at] = fmaxf(value, 0.0f);
  }
}

torch::Tensor norm_relu(torch::Tensor x, torch::Tensor scale, torch::Tensor shift, std::optional<torch::Tensor> added, double epsilon) {
  const int batch = int(x.size(0)), channels = int(x.size(1)), points = int(x.size(2) * x.size(3));
  auto means = torch::empty({batch, channels}, x.options()), squares = torch::empty_like(means), y = torch::empty_like(x);
  const auto stream = c10::cuda::getCurrentCUDAStream();
  statistics_kernel<<<batch * channels, 256, 0, stream>>>(x.data_ptr<float>(), means.data_ptr<float>(), squares.data_ptr<float>(), points);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  const float* residual = added ? added->data_ptr<float>() : nullptr;
  normalise_kernel<<<batch * channels, 256, 0, stream>>>(x.data_ptr<float>(), means.data_ptr<float>(), squares.data_ptr<float>(),
                                                         scale.data_ptr<float>(), shift.data_ptr<float>(), residual, y.data_ptr<float>(),
                                                         batch, channels, points, float(epsilon));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
"""

DECLARATIONS = """
torch::Tensor norm_relu(torch::Tensor x, torch::Tensor scale, torch::Tensor shift, std::optional<torch::Tensor> added, double epsilon);
"""

extension = load_inline(name="batch_norm_relu", cpp_sources=DECLARATIONS, cuda_sources=CUDA, functions=["norm_relu"])


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        y = extension.norm_relu(self.conv1(x).contiguous(), self.norm1.weight, self.norm1.bias, None, self.norm1.eps)
        return extension.norm_relu(self.conv2(y).contiguous(), self.norm2.weight, self.norm2.bias, x, self.norm2.eps)
