# problem: level2/6_batch_norm_leaky_mean.py
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

__global__ void mean_kernel(const float* x, const float* means, const float* squares, const float* scale, const float* shift, float* y,
                            int batch, int channels, int points, float epsilon) {
  const int channel = int(blockIdx.x) % channels;
  const float2 found = channel_statistics(means, squares, channel, batch, channels, points, epsilon);
  x += int64_t(blockIdx.x) * points;
  float total = 0;
  for (int at = threadIdx.x; at < points; at += blockDim.x) {
    const float value = (x[at] - found.x) * found.y * scale[channel] + shift[channel];
    total += value > 0 ? value : 0.1f * value;
  }
  total = block_sum(total);
  if (threadIdx.x == 0) y[blockIdx.x] = total / float(points);
}

torch::Tensor norm_mean(torch::Tensor x, torch::Tensor scale, torch::Tensor shift, double epsilon) {
  const int batch = int(x.size(0)), channels = int(x.size(1)), points = int(x.size(2) * x.size(3));
  auto means = torch::empty({batch, channels}, x.options()), squares = torch::empty_like(means), y = torch::empty_like(means);
  const auto stream = c10::cuda::getCurrentCUDAStream();
  statistics_kernel<<<batch * channels, 256, 0, stream>>>(x.data_ptr<float>(), means.data_ptr<float>(), squares.data_ptr<float>(), points);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  mean_kernel<<<batch * channels, 256, 0, stream>>>(x.data_ptr<float>(), means.data_ptr<float>(), squares.data_ptr<float>(),
                                                    scale.data_ptr<float>(), shift.data_ptr<float>(), y.data_ptr<float>(), batch, channels,
                                                    points, float(epsilon));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
"""

DECLARATIONS = """
torch::Tensor norm_mean(torch::Tensor x, torch::Tensor scale, torch::Tensor shift, double epsilon);
"""

extension = load_inline(name="batch_norm_leaky_mean", cpp_sources=DECLARATIONS, cuda_sources=CUDA, functions=["norm_mean"])


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        return extension.norm_mean(x, self.norm.weight, self.norm.bias, self.norm.eps)
