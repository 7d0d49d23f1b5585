# problem: level2/7_gated_linear.py
# backend: triton
# strict: PASS
# comparable: correct
# why: right, in Triton
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gated_kernel(x, gate_weight, gate_bias, weight, bias, y, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row, column = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    gate, value = tl.zeros((M, N), tl.float32), tl.zeros((M, N), tl.float32)
    for start in range(0, k, K):
        inner = start + tl.arange(0, K)
        left = tl.load(x + row[:, None] * k + inner[None, :], mask=(row[:, None] < m) & (inner[None, :] < k), other=0.0)
        at, inside = column[None, :] * k + inner[:, None], (column[None, :] < n) & (inner[:, None] < k)
        gate = tl.dot(left, tl.load(gate_weight + at, mask=inside, other=0.0), gate, input_precision="ieee")
        value = tl.dot(left, tl.load(weight + at, mask=inside, other=0.0), value, input_precision="ieee")
    gate += tl.load(gate_bias + column, mask=column < n, other=0.0)[None, :]
    value += tl.load(bias + column, mask=column < n, other=0.0)[None, :]
    tl.store(y + row[:, None] * n + column[None, :], tl.sigmoid(gate) * value, mask=(row[:, None] < m) & (column[None, :] < n))


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.gate = nn.Linear(in_features, out_features)
        self.value = nn.Linear(in_features, out_features)

    def forward(self, x):
        (m, k), n = x.shape, self.gate.out_features
        y = torch.empty(m, n, dtype=x.dtype, device=x.device)
        grid = (triton.cdiv(m, 64), triton.cdiv(n, 32))
        gated_kernel[grid](x, self.gate.weight, self.gate.bias, self.value.weight, self.value.bias, y, m, n, k, M=64, N=32, K=32)
        return y
