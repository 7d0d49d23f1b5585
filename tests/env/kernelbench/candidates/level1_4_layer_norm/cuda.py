# problem: level1/4_layer_norm.py
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

__global__ void layer_norm_kernel(const float* x, const float* scale, const float* shift, float* y, int width, float epsilon) {
  x += int64_t(blockIdx.x) * width;
  y += int64_t(blockIdx.x) * width;
  float total = 0;
  for (int at = threadIdx.x; at < width; at += blockDim.x) total += x[at];
  const float mean = block_sum(total) / float(width);
  float squares = 0;
  for (int at = threadIdx.x; at < width; at += blockDim.x) squares += (x[at] - mean) * (x[at] - mean);
  const float factor = 1.0f / sqrtf(block_sum(squares) / float(width) + epsilon);
  for (int at = threadIdx.x; at < width; at += blockDim.x) y[at] = (x[at] - mean) * factor * scale[at] + shift[at];
}

torch::Tensor layer_norm(torch::Tensor x, torch::Tensor scale, torch::Tensor shift, double epsilon) {
  auto y = torch::empty_like(x);
  const int64_t width = x.size(-1), rows = x.numel() / width;
  layer_norm_kernel<<<rows, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), scale.data_ptr<float>(), shift.data_ptr<float>(),
                                                                         y.data_ptr<float>(), int(width), float(epsilon));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
"""

DECLARATIONS = """
torch::Tensor layer_norm(torch::Tensor x, torch::Tensor scale, torch::Tensor shift, double epsilon);
"""

extension = load_inline(name="layer_norm", cpp_sources=DECLARATIONS, cuda_sources=CUDA, functions=["layer_norm"])


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return extension.layer_norm(x, self.norm.weight, self.norm.bias, self.norm.eps)
