# problem: level1/8_sum_middle.py
# backend: triton
# strict: PASS
# comparable: correct
# why: right, in Triton
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x, y, middle, width, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    batch = tl.program_id(1)
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, middle, ROWS):
        row = start + tl.arange(0, ROWS)
        inside = (row[:, None] < middle) & (column[None, :] < width)
        total += tl.load(x + (batch * middle + row[:, None]) * width + column[None, :], mask=inside, other=0.0)
    tl.store(y + batch * width + column, tl.sum(total, axis=0), mask=column < width)


class ModelNew(nn.Module):
    def forward(self, x):
        batch, middle, width = x.shape
        y = torch.empty(batch, width, dtype=x.dtype, device=x.device)
        sum_kernel[(triton.cdiv(width, 128), batch)](x, y, middle, width, ROWS=32, COLUMNS=128)
        return y
