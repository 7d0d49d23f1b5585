# problem: level3/4_gru_cell.py
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

__device__ float sigmoid(float value) { return 1.0f / (1.0f + expf(-value)); }

__global__ void gates_kernel(const float* from_x, const float* from_state, const float* state, float* y, int64_t n, int hidden) {
  const int64_t at = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= n) return;
  const int64_t first = at / hidden * 3 * hidden + at % hidden;
  const float reset = sigmoid(from_x[first] + from_state[first]), keep = sigmoid(from_x[first + hidden] + from_state[first + hidden]);
  const float fresh = tanhf(from_x[first + 2 * hidden] + reset * from_state[first + 2 * hidden]);
  y[at] = (1.0f - keep) * fresh + keep * state[at];
}

torch::Tensor gates(torch::Tensor from_x, torch::Tensor from_state, torch::Tensor state) {
  auto y = torch::empty_like(state);
  const int64_t n = y.numel(), blocks = (n + 255) / 256;
  gates_kernel<<<blocks, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(from_x.data_ptr<float>(), from_state.data_ptr<float>(),
                                                                      state.data_ptr<float>(), y.data_ptr<float>(), n, int(state.size(1)));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
"""

DECLARATIONS = """
torch::Tensor gates(torch::Tensor from_x, torch::Tensor from_state, torch::Tensor state);
"""

extension = load_inline(name="gru_gates", cpp_sources=DECLARATIONS, cuda_sources=CUDA, functions=["gates"])


class ModelNew(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.cell = nn.GRUCell(width, hidden)

    def forward(self, x, state):
        cell = self.cell
        from_x = nn.functional.linear(x, cell.weight_ih, cell.bias_ih)
        from_state = nn.functional.linear(state, cell.weight_hh, cell.bias_hh)
        return extension.gates(from_x, from_state, state)
