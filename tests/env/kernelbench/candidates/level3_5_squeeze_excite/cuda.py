# problem: level3/5_squeeze_excite.py
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

__global__ void means_kernel(const float* x, float* y, int points) {
  x += int64_t(blockIdx.x) * points;
  float total = 0;
  for (int at = threadIdx.x; at < points; at += blockDim.x) total += x[at];
  total = block_sum(total);
  if (threadIdx.x == 0) y[blockIdx.x] = total / float(points);
}

__global__ void scaled_kernel(const float* x, const float* gates, float* y, int points) {
  const int64_t first = int64_t(blockIdx.x) * points;
  const float gate = 1.0f / (1.0f + expf(-gates[blockIdx.x]));
  for (int at = threadIdx.x; at < points; at += blockDim.x) y[first + at] = x[first + at] * gate;
}

torch::Tensor means(torch::Tensor x) {
  auto y = torch::empty({x.size(0), x.size(1)}, x.options());
  means_kernel<<<y.numel(), 256, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(),
                                                                         int(x.size(2) * x.size(3)));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}

torch::Tensor scaled(torch::Tensor x, torch::Tensor gates) {
  auto y = torch::empty_like(x);
  scaled_kernel<<<gates.numel(), 256, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), gates.data_ptr<float>(),
                                                                              y.data_ptr<float>(), int(x.size(2) * x.size(3)));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
"""

DECLARATIONS = """
torch::Tensor means(torch::Tensor x);
torch::Tensor scaled(torch::Tensor x, torch::Tensor gates);
"""

extension = load_inline(name="squeeze_excite", cpp_sources=DECLARATIONS, cuda_sources=CUDA, functions=["means", "scaled"])


class ModelNew(nn.Module):
    def __init__(self, channels, squeezed):
        super().__init__()
        self.down = nn.Linear(channels, squeezed)
        self.up = nn.Linear(squeezed, channels)

    def forward(self, x):
        return extension.scaled(x, self.up(torch.relu(self.down(extension.means(x)))))
