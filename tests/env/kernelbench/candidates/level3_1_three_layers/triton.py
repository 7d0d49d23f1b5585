# problem: level3/1_three_layers.py
# backend: triton
# strict: PASS
# comparable: correct
# why: right, in Triton
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def linear_kernel(x, weight, bias, y, m, n, k, RELU: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row, column = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, k, K):
        inner = start + tl.arange(0, K)
        left = tl.load(x + row[:, None] * k + inner[None, :], mask=(row[:, None] < m) & (inner[None, :] < k), other=0.0)
        right = tl.load(weight + column[None, :] * k + inner[:, None], mask=(column[None, :] < n) & (inner[:, None] < k), other=0.0)
        total = tl.dot(left, right, total, input_precision="ieee")
    total += tl.load(bias + column, mask=column < n, other=0.0)[None, :]
    if RELU:
        total = tl.maximum(total, 0.0)
    tl.store(y + row[:, None] * n + column[None, :], total, mask=(row[:, None] < m) & (column[None, :] < n))


def linear(x, layer, relu):
    (m, k), n = x.shape, layer.out_features
    y = torch.empty(m, n, dtype=x.dtype, device=x.device)
    grid = (triton.cdiv(m, 64), triton.cdiv(n, 64))
    linear_kernel[grid](x, layer.weight, layer.bias, y, m, n, k, RELU=relu, M=64, N=64, K=32)
    return y


class ModelNew(nn.Module):
    def __init__(self, width, hidden, classes):
        super().__init__()
        self.first = nn.Linear(width, hidden)
        self.second = nn.Linear(hidden, hidden)
        self.last = nn.Linear(hidden, classes)

    def forward(self, x):
        x = linear(x, self.first, True)
        x = linear(x, self.second, True)
        return linear(x, self.last, False)
