# expected: plan
# task: gpu_column_norm
# steps: memset memset launch launch
import torch
import triton
import triton.language as tl


@triton.jit
def sums_kernel(x, sums, squares, n, m, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside = (rows[:, None] < n) & (columns[None, :] < m)
    values = tl.load(x + rows[:, None] * m + columns[None, :], mask=inside, other=0.0).to(tl.float64)
    tl.atomic_add(sums + columns, tl.sum(values, axis=0), mask=columns < m)
    tl.atomic_add(squares + columns, tl.sum(values * values, axis=0), mask=columns < m)


@triton.jit
def norm_kernel(x, sums, squares, y, n, m, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n * m
    columns = at % m
    mean = tl.load(sums + columns, mask=inside, other=0.0) / n
    variance = tl.load(squares + columns, mask=inside, other=0.0) / n - mean * mean
    values = (tl.load(x + at, mask=inside).to(tl.float64) - mean).to(tl.float32)
    tl.store(y + at, values * tl.rsqrt(variance.to(tl.float32) + 1e-5), mask=inside)


def launch(x, n, m):
    y = torch.empty_like(x)
    sums = torch.zeros(m, dtype=torch.float64, device=x.device)
    squares = torch.zeros_like(sums)
    sums_kernel[(triton.cdiv(n, 64), triton.cdiv(m, 32))](x, sums, squares, n, m, 64, 32)
    norm_kernel[(triton.cdiv(n * m, 1024),)](x, sums, squares, y, n, m, 1024)
    return y
