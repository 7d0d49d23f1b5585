# expected: plan
# task: gpu_matmul_tall
# steps: memset launch
import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(x, z, y, n, m, k, part, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    begin = tl.program_id(2) * part
    for at in range(begin, min(begin + part, k), BK):
        inner = at + tl.arange(0, BK)
        left = tl.load(x + inner[None, :] * n + rows[:, None], mask=(inner[None, :] < k) & (rows[:, None] < n), other=0.0)
        right = tl.load(z + inner[:, None] * m + columns[None, :], mask=(inner[:, None] < k) & (columns[None, :] < m), other=0.0)
        total = tl.dot(left, right, total, input_precision="tf32x3")
    tl.atomic_add(y + rows[:, None] * m + columns[None, :], total, mask=(rows[:, None] < n) & (columns[None, :] < m))


def launch(x, z, n, m, k):
    y = torch.zeros((n, m), device=x.device)
    part = 1024
    matmul_kernel[(triton.cdiv(n, 32), triton.cdiv(m, 32), triton.cdiv(k, part))](x, z, y, n, m, k, part, 32, 32, 32)
    return y
