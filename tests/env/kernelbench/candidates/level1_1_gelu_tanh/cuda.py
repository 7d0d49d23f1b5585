# problem: level1/1_gelu_tanh.py
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

__device__ float gelu_of(float x) { return 0.5f * x * (1.0f + tanhf(0.7978845608028654f * (x + 0.044715f * x * x * x))); }

__global__ void gelu_kernel(const float4* x, float4* y, int64_t quads, const float* tail, float* tail_out, int rest) {
  const int64_t at = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at < quads) {
    const float4 v = x[at];
    y[at] = make_float4(gelu_of(v.x), gelu_of(v.y), gelu_of(v.z), gelu_of(v.w));
  }
  if (at < rest) tail_out[at] = gelu_of(tail[at]);
}

torch::Tensor gelu(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const int64_t n = x.numel(), quads = n / 4, blocks = quads / 256 + 1;
  const float* from = x.data_ptr<float>();
  float* to = y.data_ptr<float>();
  gelu_kernel<<<blocks, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(reinterpret_cast<const float4*>(from), reinterpret_cast<float4*>(to), quads,
                                                                     from + quads * 4, to + quads * 4, int(n - quads * 4));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
"""

extension = load_inline(name="gelu_tanh", cpp_sources="torch::Tensor gelu(torch::Tensor x);", cuda_sources=CUDA, functions=["gelu"])


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.gelu(x)
