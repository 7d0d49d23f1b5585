# expected: plan
# task: gpu_softmax_columns
# steps: launch
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x, y, n, m, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    rows = tl.arange(0, ROWS)
    greatest = tl.full((COLUMNS,), -float("inf"), tl.float32)
    total = tl.zeros((COLUMNS,), tl.float32)
    for begin in range(0, n, ROWS):
        at = (begin + rows)[:, None] * m + columns[None, :]
        values = tl.load(x + at, mask=((begin + rows)[:, None] < n) & (columns[None, :] < m), other=-float("inf"))
        now = tl.maximum(greatest, tl.max(values, axis=0))
        total = total * tl.exp(greatest - now) + tl.sum(tl.exp(values - now[None, :]), axis=0)
        greatest = now
    for begin in range(0, n, ROWS):
        at = (begin + rows)[:, None] * m + columns[None, :]
        inside = ((begin + rows)[:, None] < n) & (columns[None, :] < m)
        values = tl.load(x + at, mask=inside, other=-float("inf"))
        tl.store(y + at, tl.exp(values - greatest[None, :]) / total[None, :], mask=inside)


def launch(x, n, m):
    y = torch.empty_like(x)
    softmax_kernel[(triton.cdiv(m, 32),)](x, y, n, m, ROWS=64, COLUMNS=32)
    return y
