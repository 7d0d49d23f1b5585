# problem: level1/3_row_softmax.py
# backend: cuda
# strict: PASS
# comparable: correct
# why: Asks for more shared memory than is given without asking, and keeps the row there.
# runs_on: cuda
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

__device__ float block_reduce(float value, bool sum) {
  __shared__ float parts[32];
  for (int step = 16; step > 0; step /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, value, step);
    value = sum ? value + other : fmaxf(value, other);
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = parts[0];
  for (int warp = 1; warp < int(blockDim.x) / 32; ++warp) value = sum ? value + parts[warp] : fmaxf(value, parts[warp]);
  return value;
}

__global__ void softmax_kernel(const float* x, float* y, int columns) {
  extern __shared__ float row[];
  float best = -INFINITY, total = 0;
  for (int at = threadIdx.x; at < columns; at += blockDim.x) best = fmaxf(best, row[at] = x[int64_t(blockIdx.x) * columns + at]);
  best = block_reduce(best, false);
  for (int at = threadIdx.x; at < columns; at += blockDim.x) total += row[at] = expf(row[at] - best);
  total = block_reduce(total, true);
  for (int at = threadIdx.x; at < columns; at += blockDim.x) y[int64_t(blockIdx.x) * columns + at] = row[at] / total;
}

torch::Tensor softmax(torch::Tensor x) {
  auto y = torch::empty_like(x);
  constexpr int kBytes = 96 << 10;
  TORCH_CHECK(x.size(1) * 4 <= kBytes, "rows of at most 24576 elements");
  C10_CUDA_CHECK(cudaFuncSetAttribute(softmax_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  softmax_kernel<<<x.size(0), 256, kBytes, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), int(x.size(1)));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
"""

extension = load_inline(name="shared_softmax", cpp_sources="torch::Tensor softmax(torch::Tensor x);", cuda_sources=CUDA, functions=["softmax"])


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.softmax(x)
