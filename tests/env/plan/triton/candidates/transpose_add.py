# expected: plan
# task: gpu_transpose_add
# steps: launch
import torch
import triton
import triton.language as tl


@triton.jit
def transpose_kernel(x, z, y, n, m, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tile = tl.load(x + rows[:, None] * m + columns[None, :], mask=(rows[:, None] < n) & (columns[None, :] < m))
    at = columns[:, None] * n + rows[None, :]
    inside = (columns[:, None] < m) & (rows[None, :] < n)
    tl.store(y + at, tl.trans(tile) + tl.load(z + at, mask=inside), mask=inside)


def launch(x, z, n, m):
    y = torch.empty_like(z)
    transpose_kernel[(triton.cdiv(n, 64), triton.cdiv(m, 64))](x, z, y, n, m, BLOCK=64, num_warps=8)
    return y
