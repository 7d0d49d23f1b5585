# expected: plan
# task: gpu_row_min_max_nonfinite
# steps: launch
import torch
import triton
import triton.language as tl


@triton.jit
def greater(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def less(a, b):
    return tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def min_max_kernel(x, y, z, n, m, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, COLUMNS)
    inside = (rows[:, None] < n) & (columns[None, :] < m)
    at = rows[:, None] * m + columns[None, :]
    tl.store(y + rows, tl.reduce(tl.load(x + at, mask=inside, other=-float("inf")), 1, greater), mask=rows < n)
    tl.store(z + rows, tl.reduce(tl.load(x + at, mask=inside, other=float("inf")), 1, less), mask=rows < n)


def launch(x, n, m):
    y, z = (torch.empty(n, device=x.device) for _ in range(2))
    min_max_kernel[(triton.cdiv(n, 16),)](x, y, z, n, m, ROWS=16, COLUMNS=triton.next_power_of_2(m))
    return y, z
