# problem: level1/2_weighted_sum_relu.py
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

__global__ void weighted_sum_kernel(const float* x, const float* y, float* out, float alpha, float beta, int64_t n) {
  const int64_t step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t at = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; at < n; at += step) {
    const float total = alpha * x[at] + beta * y[at];
    out[at] = total < 0.0f ? 0.0f : total;
  }
}

torch::Tensor weighted_sum(torch::Tensor x, torch::Tensor y, double alpha, double beta) {
  auto out = torch::empty_like(x);
  const int64_t n = x.numel(), blocks = std::min<int64_t>((n + 255) / 256, 132 * 32);
  weighted_sum_kernel<<<blocks, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(),
                                                                             float(alpha), float(beta), n);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}
"""

DECLARATIONS = """
torch::Tensor weighted_sum(torch::Tensor x, torch::Tensor y, double alpha, double beta);
"""

extension = load_inline(name="weighted_sum_relu", cpp_sources=DECLARATIONS, cuda_sources=CUDA, functions=["weighted_sum"])


class ModelNew(nn.Module):
    def __init__(self, alpha, beta):
        super().__init__()
        self.alpha, self.beta = alpha, beta

    def forward(self, x, y):
        return extension.weighted_sum(x, y, self.alpha, self.beta)
