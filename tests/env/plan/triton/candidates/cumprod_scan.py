# expected: plan
# task: gpu_cumprod
# steps: launch
import torch
import triton
import triton.language as tl


@triton.jit
def product(a, b):
    return a * b


@triton.jit
def cumprod_kernel(x, y, n, m, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    carry = tl.full((ROWS,), 1.0, tl.float32)
    for begin in range(0, m, COLUMNS):
        columns = begin + tl.arange(0, COLUMNS)
        at = rows[:, None] * m + columns[None, :]
        inside = (rows[:, None] < n) & (columns[None, :] < m)
        values = tl.associative_scan(tl.load(x + at, mask=inside, other=1.0), 1, product) * carry[:, None]
        tl.store(y + at, values, mask=inside)
        carry = tl.sum(tl.where(tl.arange(0, COLUMNS)[None, :] == COLUMNS - 1, values, 0.0), axis=1)


def launch(x, n, m):
    y = torch.empty_like(x)
    cumprod_kernel[(triton.cdiv(n, 2),)](x, y, n, m, ROWS=2, COLUMNS=512)
    return y
