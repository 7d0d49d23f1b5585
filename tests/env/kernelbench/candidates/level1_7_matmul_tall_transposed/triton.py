# problem: level1/7_matmul_tall_transposed.py
# backend: triton
# strict: PASS
# comparable: correct
# why: right, in Triton
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def tall_kernel(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row, column, inner = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    left = tl.load(a + row[:, None] * k + inner[None, :], mask=(row[:, None] < m) & (inner[None, :] < k), other=0.0)
    right = tl.load(b + column[None, :] * k + inner[:, None], mask=(column[None, :] < n) & (inner[:, None] < k), other=0.0)
    total = tl.dot(left, right, input_precision="ieee")
    tl.store(c + row[:, None] * n + column[None, :], total, mask=(row[:, None] < m) & (column[None, :] < n))


class ModelNew(nn.Module):
    def forward(self, a, b):
        m, k = a.shape
        n = b.shape[0]
        c = torch.empty(m, n, dtype=a.dtype, device=a.device)
        tall_kernel[(triton.cdiv(m, 64),)](a, b, c, m, n, k, M=64, N=triton.next_power_of_2(n), K=triton.next_power_of_2(k))
        return c
