# problem: level1/11_cumsum_rows.py
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

// A block takes one row, 256 elements at a time: sums within a warp, then over the warps, then what came before.
__global__ void cumsum_kernel(const float* x, float* y, int columns) {
  __shared__ float warps[8];
  x += int64_t(blockIdx.x) * columns;
  y += int64_t(blockIdx.x) * columns;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float before = 0;
  for (int start = 0; start < columns; start += 256) {
    const int at = start + threadIdx.x;
    float value = at < columns ? x[at] : 0.0f;
    for (int step = 1; step < 32; step *= 2) {
      const float other = __shfl_up_sync(0xffffffffu, value, step);
      if (lane >= step) value += other;
    }
    if (lane == 31) warps[warp] = value;
    __syncthreads();
    float chunk = 0, sooner = 0;
    for (int other = 0; other < 8; ++other) {
      if (other == warp) sooner = chunk;
      chunk += warps[other];
    }
    if (at < columns) y[at] = before + (sooner + value);
    before += chunk;
    __syncthreads();
  }
}

torch::Tensor cumsum(torch::Tensor x) {
  auto y = torch::empty_like(x);
  cumsum_kernel<<<x.size(0), 256, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), int(x.size(1)));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
"""

extension = load_inline(name="cumsum_rows", cpp_sources="torch::Tensor cumsum(torch::Tensor x);", cuda_sources=CUDA, functions=["cumsum"])


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.cumsum(x)
