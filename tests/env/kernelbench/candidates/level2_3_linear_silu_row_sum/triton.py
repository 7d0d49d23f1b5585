# problem: level2/3_linear_silu_row_sum.py
# backend: triton
# strict: PASS
# comparable: correct
# why: right, in Triton
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def row_sum_kernel(x, weight, bias, y, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0) * M + tl.arange(0, M)
    sums = tl.zeros((M,), tl.float32)
    for left_edge in range(0, n, N):
        column = left_edge + tl.arange(0, N)
        total = tl.zeros((M, N), tl.float32)
        for start in range(0, k, K):
            inner = start + tl.arange(0, K)
            left = tl.load(x + row[:, None] * k + inner[None, :], mask=(row[:, None] < m) & (inner[None, :] < k), other=0.0)
            right = tl.load(weight + column[None, :] * k + inner[:, None], mask=(column[None, :] < n) & (inner[:, None] < k), other=0.0)
            total = tl.dot(left, right, total, input_precision="ieee")
        total += tl.load(bias + column, mask=column < n, other=0.0)[None, :]
        sums += tl.sum(total * tl.sigmoid(total), axis=1)
    tl.store(y + row, sums, mask=row < m)


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        (m, k), n = x.shape, self.linear.out_features
        y = torch.empty(m, 1, dtype=x.dtype, device=x.device)
        row_sum_kernel[(triton.cdiv(m, 64),)](x, self.linear.weight, self.linear.bias, y, m, n, k, M=64, N=64, K=32)
        return y
