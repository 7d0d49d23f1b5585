# problem: level1/1_gelu_tanh.py
# backend: cuda
# strict: FAIL_RUNTIME
# comparable: failed
# why: Reads sixteen bytes at an address that is not a multiple of sixteen.
# runs_on: cuda
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

__global__ void gelu_kernel(const float* x, float* y, int64_t n) {
  const int64_t at = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at == 0) {
    const float4 four = *reinterpret_cast<const float4*>(x + 1);  // all of it is used, or four bytes were loaded
    y[1] = four.x + four.y + four.z + four.w;
  }
  if (at < n) y[at] = 0.5f * x[at] * (1.0f + tanhf(0.7978845608028654f * (x[at] + 0.044715f * x[at] * x[at] * x[at])));
}

torch::Tensor gelu(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const int64_t n = x.numel(), blocks = (n + 255) / 256;
  const auto stream = c10::cuda::getCurrentCUDAStream();
  gelu_kernel<<<blocks, 256, 0, stream>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""

extension = load_inline(name="misaligned", cpp_sources="torch::Tensor gelu(torch::Tensor x);", cuda_sources=CUDA, functions=["gelu"])


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.gelu(x)
