# expected: plan
# task: gpu_middle_axis_sum
# steps: launch
import torch
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x, y, n, m, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    slab = tl.program_id(1)
    columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for begin in range(0, n, ROWS):
        rows = begin + tl.arange(0, ROWS)
        inside = (rows[:, None] < n) & (columns[None, :] < m)
        total += tl.load(x + (slab * n + rows[:, None]) * m + columns[None, :], mask=inside, other=0.0)
    tl.store(y + slab * m + columns, tl.sum(total, axis=0), mask=columns < m)


def launch(x, p, n, m):
    y = torch.empty((p, m), dtype=x.dtype, device=x.device)
    sum_kernel[(triton.cdiv(m, 128), p, 1)](x, y, n, m, ROWS=16, COLUMNS=128)
    return y
