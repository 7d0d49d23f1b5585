# problem: level1/6_matmul.py
# backend: triton
# strict: PASS
# comparable: correct
# why: right, in Triton
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr):
    # Programs that follow each other share columns of b, which then stay in the L2 cache.
    across, program = tl.cdiv(n, N), tl.program_id(0)
    first = program // (GROUP * across) * GROUP
    size = tl.minimum(tl.cdiv(m, M) - first, GROUP)
    row = (first + program % (GROUP * across) % size) * M + tl.arange(0, M)
    column = (program % (GROUP * across)) // size * N + tl.arange(0, N)
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, k, K):
        inner = start + tl.arange(0, K)
        left = tl.load(a + row[:, None] * k + inner[None, :], mask=(row[:, None] < m) & (inner[None, :] < k), other=0.0)
        right = tl.load(b + inner[:, None] * n + column[None, :], mask=(inner[:, None] < k) & (column[None, :] < n), other=0.0)
        total = tl.dot(left, right, total, input_precision="ieee")
    tl.store(c + row[:, None] * n + column[None, :], total, mask=(row[:, None] < m) & (column[None, :] < n))


class ModelNew(nn.Module):
    def forward(self, a, b):
        m, k = a.shape
        n = b.shape[1]
        c = torch.empty(m, n, dtype=a.dtype, device=a.device)
        grid = (triton.cdiv(m, 64) * triton.cdiv(n, 64),)
        matmul_kernel[grid](a, b, c, m, n, k, M=64, N=64, K=32, GROUP=8)
        return c
