# expected: plan
# task: gpu_row_sum
# steps: launch
import torch
import triton
import triton.language as tl


@triton.jit
def row_sum_kernel(x, y, m, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for begin in tl.range(0, m, BLOCK, num_stages=3):
        columns = begin + tl.arange(0, BLOCK)
        total += tl.load(x + row * m + columns, mask=columns < m, other=0.0)
    tl.store(y + row, tl.sum(total))


def launch(x, n, m):
    y = x.new_empty(n)
    row_sum_kernel[(n,)](x, y, m, BLOCK=2048, num_warps=8)
    return y
