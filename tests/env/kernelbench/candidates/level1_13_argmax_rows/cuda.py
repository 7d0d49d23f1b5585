# problem: level1/13_argmax_rows.py
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

__device__ bool comes_first(float value, int at, float other, int other_at) { return value > other || (value == other && at < other_at); }

__global__ void argmax_kernel(const float* x, int64_t* y, int columns) {
  __shared__ float values[256];
  __shared__ int places[256];
  x += int64_t(blockIdx.x) * columns;
  float best = -INFINITY;
  int place = columns;
  for (int at = threadIdx.x; at < columns; at += 256)
    if (comes_first(x[at], at, best, place)) best = x[at], place = at;
  values[threadIdx.x] = best;
  places[threadIdx.x] = place;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    const int other = threadIdx.x + half;
    if (int(threadIdx.x) < half && comes_first(values[other], places[other], values[threadIdx.x], places[threadIdx.x])) {
      values[threadIdx.x] = values[other];
      places[threadIdx.x] = places[other];
    }
  }
  if (threadIdx.x == 0) y[blockIdx.x] = places[0];
}

torch::Tensor argmax(torch::Tensor x) {
  auto y = torch::empty({x.size(0)}, x.options().dtype(torch::kInt64));
  argmax_kernel<<<x.size(0), 256, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<int64_t>(), int(x.size(1)));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
"""

extension = load_inline(name="argmax_rows", cpp_sources="torch::Tensor argmax(torch::Tensor x);", cuda_sources=CUDA, functions=["argmax"])


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.argmax(x)
