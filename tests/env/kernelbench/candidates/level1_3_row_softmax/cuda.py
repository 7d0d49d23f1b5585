# problem: level1/3_row_softmax.py
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

__device__ float block_max(float value) {
  __shared__ float parts[32];
  for (int step = 16; step > 0; step /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, step));
  __syncthreads();  // the last maximum has been read
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  float best = parts[0];
  for (int warp = 1; warp < int(blockDim.x) / 32; ++warp) best = fmaxf(best, parts[warp]);
  return best;
}

__global__ void softmax_kernel(const float* x, float* y, int columns) {
  x += int64_t(blockIdx.x) * columns;
  y += int64_t(blockIdx.x) * columns;
  float best = -INFINITY;
  for (int at = threadIdx.x; at < columns; at += blockDim.x) best = fmaxf(best, x[at]);
  best = block_max(best);
  float total = 0;
  for (int at = threadIdx.x; at < columns; at += blockDim.x) total += expf(x[at] - best);
  total = block_sum(total);
  for (int at = threadIdx.x; at < columns; at += blockDim.x) y[at] = expf(x[at] - best) / total;
}

torch::Tensor softmax(torch::Tensor x) {
  auto y = torch::empty_like(x);
  softmax_kernel<<<x.size(0), 512, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), int(x.size(1)));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
"""

extension = load_inline(name="row_softmax", cpp_sources="torch::Tensor softmax(torch::Tensor x);", cuda_sources=CUDA, functions=["softmax"])


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.softmax(x)
