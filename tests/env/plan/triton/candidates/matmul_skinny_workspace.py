# expected: plan
# task: gpu_matmul_skinny_bf16
# steps: launch launch
# interpreted: no, the interpreter takes bf16 in a dot for integers
import torch
import triton
import triton.language as tl


@triton.jit
def partial_kernel(x, w, partial, n, m, k, part, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.arange(0, 16)
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    split = tl.program_id(1)
    total = tl.zeros((16, BN), dtype=tl.float32)
    for begin in range(split * part, min(split * part + part, k), BK):
        inner = begin + tl.arange(0, BK)
        left = tl.load(x + rows[:, None] * k + inner[None, :], mask=(rows[:, None] < n) & (inner[None, :] < k), other=0.0)
        right = tl.load(w + columns[None, :] * k + inner[:, None], mask=(columns[None, :] < m) & (inner[:, None] < k), other=0.0)
        total = tl.dot(left, right, total)
    tl.store(partial + (split * 16 + rows[:, None]) * m + columns[None, :], total, mask=columns[None, :] < m)


@triton.jit
def sum_kernel(partial, y, m, splits, BLOCK: tl.constexpr):
    row = tl.program_id(1)
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for split in range(splits):
        total += tl.load(partial + (split * 16 + row) * m + columns, mask=columns < m, other=0.0)
    tl.store(y + row * m + columns, total.to(tl.bfloat16), mask=columns < m)


def launch(x, w, n, m, k):
    splits = 4
    partial = torch.empty((splits, 16, m), dtype=torch.float32, device=x.device)
    y = torch.empty((n, m), dtype=x.dtype, device=x.device)
    part = triton.cdiv(triton.cdiv(k, splits), 64) * 64
    partial_kernel[(triton.cdiv(m, 64), splits)](x, w, partial, n, m, k, part, BN=64, BK=64)
    sum_kernel[(triton.cdiv(m, 256), n)](partial, y, m, splits, BLOCK=256)
    return y
