# problem: level1/12_smooth_l1_loss.py
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

constexpr int kParts = 1024;

__global__ void parts_kernel(const float* predicted, const float* wanted, float* parts, int64_t n, float beta) {
  float total = 0;
  for (int64_t at = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; at < n; at += int64_t(gridDim.x) * blockDim.x) {
    const float error = fabsf(predicted[at] - wanted[at]);
    total += error < beta ? 0.5f * error * error / beta : error - 0.5f * beta;
  }
  total = block_sum(total);
  if (threadIdx.x == 0) parts[blockIdx.x] = total;
}

__global__ void mean_kernel(const float* parts, float* loss, float n) {
  float total = 0;
  for (int at = threadIdx.x; at < kParts; at += blockDim.x) total += parts[at];
  total = block_sum(total);
  if (threadIdx.x == 0) loss[0] = total / n;
}

torch::Tensor smooth_l1(torch::Tensor predicted, torch::Tensor wanted, double beta) {
  auto parts = torch::empty({kParts}, predicted.options()), loss = torch::empty({}, predicted.options());
  const auto stream = c10::cuda::getCurrentCUDAStream();
  const int64_t n = predicted.numel();
  parts_kernel<<<kParts, 256, 0, stream>>>(predicted.data_ptr<float>(), wanted.data_ptr<float>(), parts.data_ptr<float>(), n, float(beta));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  mean_kernel<<<1, 256, 0, stream>>>(parts.data_ptr<float>(), loss.data_ptr<float>(), float(n));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return loss;
}
"""

DECLARATIONS = """
torch::Tensor smooth_l1(torch::Tensor predicted, torch::Tensor wanted, double beta);
"""

extension = load_inline(name="smooth_l1_loss", cpp_sources=DECLARATIONS, cuda_sources=CUDA, functions=["smooth_l1"])


class ModelNew(nn.Module):
    def __init__(self, beta):
        super().__init__()
        self.beta = beta

    def forward(self, predicted, wanted):
        return extension.smooth_l1(predicted, wanted, self.beta)
