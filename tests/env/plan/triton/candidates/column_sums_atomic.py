# expected: plan
# task: gpu_column_sum_product
# steps: memset launch
import torch
import triton
import triton.language as tl


@triton.jit
def sums_kernel(x, z, y, n, m, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    at = rows[:, None] * m + columns[None, :]
    inside = (rows[:, None] < n) & (columns[None, :] < m)
    products = tl.load(x + at, mask=inside, other=0.0) * tl.load(z + at, mask=inside, other=0.0)
    tl.atomic_add(y + columns, tl.sum(products, axis=0), mask=columns < m, sem="relaxed")


def launch(x, z, n, m):
    y = torch.zeros(m, dtype=x.dtype, device=x.device)
    sums_kernel[(triton.cdiv(n, 128), triton.cdiv(m, 64))](x, z, y, n, m, ROWS=128, COLUMNS=64)
    return y
