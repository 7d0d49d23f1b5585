# problem: level4/2_patch_classifier.py
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

__global__ void layer_norm_kernel(const float* x, const float* scale, const float* shift, float* y, int width, float epsilon) {
  x += int64_t(blockIdx.x) * width;
  y += int64_t(blockIdx.x) * width;
  float total = 0;
  for (int at = threadIdx.x; at < width; at += blockDim.x) total += x[at];
  const float mean = block_sum(total) / float(width);
  float squares = 0;
  for (int at = threadIdx.x; at < width; at += blockDim.x) squares += (x[at] - mean) * (x[at] - mean);
  const float factor = 1.0f / sqrtf(block_sum(squares) / float(width) + epsilon);
  for (int at = threadIdx.x; at < width; at += blockDim.x) y[at] = (x[at] - mean) * factor * scale[at] + shift[at];
}

torch::Tensor layer_norm(torch::Tensor x, torch::Tensor scale, torch::Tensor shift, double epsilon) {
  auto y = torch::empty_like(x);
  const int64_t width = x.size(-1), rows = x.numel() / width;
  layer_norm_kernel<<<rows, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), scale.data_ptr<float>(), shift.data_ptr<float>(),
                                                                         y.data_ptr<float>(), int(width), float(epsilon));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}

constexpr int kLength = 1024, kSize = 64, kThreads = 128;  // the most that the shared memory here holds

// parts [batch, length, 3, heads, size] holds queries, keys and values; y is [batch, length, heads, size]. A block takes one query.
__global__ void attention_kernel(const float* parts, float* y, int heads, int length, int size, float scale, bool causal) {
  __shared__ float query[kSize], weights[kLength];
  const int row = blockIdx.x, batch = blockIdx.y / heads, head = blockIdx.y % heads, step = 3 * heads * size;
  const int seen = causal ? row + 1 : length;
  parts += int64_t(batch) * length * step + head * size;
  for (int at = threadIdx.x; at < size; at += kThreads) query[at] = parts[int64_t(row) * step + at];
  __syncthreads();
  float best = -INFINITY, total = 0;
  for (int place = threadIdx.x; place < seen; place += kThreads) {
    const float* key = parts + int64_t(place) * step + heads * size;
    float score = 0;
    for (int at = 0; at < size; ++at) score += query[at] * key[at];
    weights[place] = score * scale;
    best = fmaxf(best, score * scale);
  }
  best = block_max(best);
  for (int place = threadIdx.x; place < seen; place += kThreads) {
    weights[place] = expf(weights[place] - best);
    total += weights[place];
  }
  total = block_sum(total);  // waits for every weight, too
  const float* value = parts + 2 * heads * size;
  y += ((int64_t(batch) * length + row) * heads + head) * size;
  for (int at = threadIdx.x; at < size; at += kThreads) {
    float mixed = 0;
    for (int place = 0; place < seen; ++place) mixed += weights[place] * value[int64_t(place) * step + at];
    y[at] = mixed / total;
  }
}

torch::Tensor attention(torch::Tensor parts, int64_t heads, bool causal) {
  const int64_t batch = parts.size(0), length = parts.size(1), width = parts.size(2) / 3, size = width / heads;
  TORCH_CHECK(length <= kLength && size <= kSize, "at most 1024 places and heads of 64");
  auto y = torch::empty({batch, length, width}, parts.options());
  const dim3 grid(unsigned(length), unsigned(batch * heads));
  attention_kernel<<<grid, kThreads, 0, c10::cuda::getCurrentCUDAStream()>>>(parts.data_ptr<float>(), y.data_ptr<float>(), int(heads),
                                                                             int(length), int(size), 1.0f / sqrtf(float(size)), causal);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}

__global__ void gelu_kernel(const float* x, float* y, int64_t n) {
  const int64_t at = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at < n) y[at] = 0.5f * x[at] * (1.0f + erff(x[at] * 0.7071067811865476f));
}

torch::Tensor gelu(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const int64_t n = y.numel(), blocks = (n + 255) / 256;
  gelu_kernel<<<blocks, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
"""

DECLARATIONS = """
torch::Tensor layer_norm(torch::Tensor x, torch::Tensor scale, torch::Tensor shift, double epsilon);
torch::Tensor attention(torch::Tensor parts, int64_t heads, bool causal);
torch::Tensor gelu(torch::Tensor x);
"""

extension = load_inline(name="patch_classifier", cpp_sources=DECLARATIONS, cuda_sources=CUDA, functions=["layer_norm", "attention", "gelu"])


def layer_norm(x, norm):
    return extension.layer_norm(x, norm.weight, norm.bias, norm.eps)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.into = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.out(extension.attention(self.into(layer_norm(x, self.norm1)), self.heads, False))
        return x + self.down(extension.gelu(self.up(layer_norm(x, self.norm2))))


class ModelNew(nn.Module):
    def __init__(self, side, patch, width, heads, layers, classes):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, stride=patch)
        self.places = nn.Parameter(torch.randn((side // patch) ** 2, width) * 0.2)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, image):
        x = (self.patches(image).flatten(2).transpose(1, 2) + self.places).contiguous()
        for block in self.blocks:
            x = block(x)
        return self.head(layer_norm(x.mean(dim=1), self.norm))
