# problem: level2/4_add_layer_norm_relu.py
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

constexpr int kThreads = 256, kEach = 8;  // a thread keeps up to eight elements of the row

__global__ void add_norm_kernel(const float* x, const float* residual, const float* scale, const float* shift, float* y, int width,
                                float epsilon) {
  const int64_t first = int64_t(blockIdx.x) * width;
  float kept[kEach], total = 0, squares = 0;
  for (int i = 0; i < kEach; ++i) {
    const int at = threadIdx.x + i * kThreads;
    kept[i] = at < width ? x[first + at] + residual[first + at] : 0.0f;
    total += kept[i];
  }
  const float mean = block_sum(total) / float(width);
  for (int i = 0; i < kEach; ++i)
    if (int(threadIdx.x) + i * kThreads < width) squares += (kept[i] - mean) * (kept[i] - mean);
  const float factor = 1.0f / sqrtf(block_sum(squares) / float(width) + epsilon);
  for (int i = 0; i < kEach; ++i) {
    const int at = threadIdx.x + i * kThreads;
    if (at < width) y[first + at] = fmaxf((kept[i] - mean) * factor * scale[at] + shift[at], 0.0f);
  }
}

torch::Tensor add_norm(torch::Tensor x, torch::Tensor residual, torch::Tensor scale, torch::Tensor shift, double epsilon) {
  TORCH_CHECK(x.size(1) <= kThreads * kEach, "rows of at most 2048 elements");
  auto y = torch::empty_like(x);
  add_norm_kernel<<<x.size(0), kThreads, 0, c10::cuda::getCurrentCUDAStream()>>>(
      x.data_ptr<float>(), residual.data_ptr<float>(), scale.data_ptr<float>(), shift.data_ptr<float>(), y.data_ptr<float>(), int(x.size(1)),
      float(epsilon));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
"""

DECLARATIONS = """
torch::Tensor add_norm(torch::Tensor x, torch::Tensor residual, torch::Tensor scale, torch::Tensor shift, double epsilon);
"""

extension = load_inline(name="add_layer_norm_relu", cpp_sources=DECLARATIONS, cuda_sources=CUDA, functions=["add_norm"])


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x, residual):
        return extension.add_norm(x, residual, self.norm.weight, self.norm.bias, self.norm.eps)
