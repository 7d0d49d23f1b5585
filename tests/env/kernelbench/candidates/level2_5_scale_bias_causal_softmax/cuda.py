# problem: level2/5_scale_bias_causal_softmax.py
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

__global__ void causal_softmax_kernel(const float* scores, const float* bias, float* y, int heads, int length, float scale) {
  const int row = blockIdx.x;
  const int64_t first = (int64_t(blockIdx.y) * length + row) * length;
  bias += int64_t(blockIdx.y % heads) * length;
  float best = -INFINITY, total = 0;
  for (int at = threadIdx.x; at <= row; at += blockDim.x) best = fmaxf(best, scores[first + at] * scale + bias[row - at]);
  best = block_max(best);
  for (int at = threadIdx.x; at <= row; at += blockDim.x) total += expf(scores[first + at] * scale + bias[row - at] - best);
  total = block_sum(total);
  for (int at = threadIdx.x; at < length; at += blockDim.x)
    y[first + at] = at <= row ? expf(scores[first + at] * scale + bias[row - at] - best) / total : 0.0f;
}

torch::Tensor causal_softmax(torch::Tensor scores, torch::Tensor bias, double scale) {
  auto y = torch::empty_like(scores);
  const dim3 grid(unsigned(scores.size(2)), unsigned(scores.size(0) * scores.size(1)));
  causal_softmax_kernel<<<grid, 128, 0, c10::cuda::getCurrentCUDAStream()>>>(scores.data_ptr<float>(), bias.data_ptr<float>(),
                                                                             y.data_ptr<float>(), int(scores.size(1)), int(scores.size(2)),
                                                                             float(scale));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
"""

DECLARATIONS = """
torch::Tensor causal_softmax(torch::Tensor scores, torch::Tensor bias, double scale);
"""

extension = load_inline(name="causal_softmax", cpp_sources=DECLARATIONS, cuda_sources=CUDA, functions=["causal_softmax"])


class ModelNew(nn.Module):
    def __init__(self, heads, length, scale):
        super().__init__()
        self.scale = scale
        self.bias = nn.Parameter(torch.randn(heads, length) * 0.5)

    def forward(self, scores):
        return extension.causal_softmax(scores, self.bias, self.scale)
