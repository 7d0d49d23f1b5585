# problem: level2/1_linear_gelu_scale.py
# backend: triton
# strict: PASS
# comparable: correct
# why: right, in Triton
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def linear_kernel(x, weight, bias, y, m, n, k, scale, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row, column = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, k, K):
        inner = start + tl.arange(0, K)
        left = tl.load(x + row[:, None] * k + inner[None, :], mask=(row[:, None] < m) & (inner[None, :] < k), other=0.0)
        right = tl.load(weight + column[None, :] * k + inner[:, None], mask=(column[None, :] < n) & (inner[:, None] < k), other=0.0)
        total = tl.dot(left, right, total, input_precision="ieee")
    total += tl.load(bias + column, mask=column < n, other=0.0)[None, :]
    total = 0.5 * total * (1.0 + tl.erf(total * 0.7071067811865476)) * scale
    tl.store(y + row[:, None] * n + column[None, :], total, mask=(row[:, None] < m) & (column[None, :] < n))


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features, scale):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.scale = scale

    def forward(self, x):
        (m, k), n = x.shape, self.linear.out_features
        y = torch.empty(m, n, dtype=x.dtype, device=x.device)
        grid = (triton.cdiv(m, 64), triton.cdiv(n, 64))
        linear_kernel[grid](x, self.linear.weight, self.linear.bias, y, m, n, k, self.scale, M=64, N=64, K=32)
        return y
