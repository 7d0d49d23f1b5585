# expected: plan
# task: gpu_cumsum
# steps: launch
import torch
import triton
import triton.language as tl


@triton.jit
def cumsum_kernel(x, y, m, BLOCK: tl.constexpr):
    row = tl.program_id(0) * m
    carry = 0.0
    for begin in range(0, m, BLOCK):
        columns = begin + tl.arange(0, BLOCK)
        values = tl.load(x + row + columns, mask=columns < m, other=0.0)
        tl.store(y + row + columns, tl.cumsum(values, axis=0) + carry, mask=columns < m)
        carry += tl.sum(values, axis=0)


def launch(x, n, m):
    y = torch.empty_like(x)
    cumsum_kernel[(n,)](x, y, m, BLOCK=1024)
    return y
