# expected: plan
# task: gpu_sort_rows
# steps: launch
# interpreted: no, though it is right: it takes a minute
import torch
import triton
import triton.language as tl


@triton.jit
def sort_kernel(x, y, m, BLOCK: tl.constexpr):
    row = tl.program_id(0) * m
    columns = tl.arange(0, BLOCK)
    values = tl.load(x + row + columns, mask=columns < m, other=float("inf"))
    tl.store(y + row + columns, tl.sort(values), mask=columns < m)


def launch(x, n, m):
    y = torch.empty_like(x)
    sort_kernel[(n,)](x, y, m, BLOCK=triton.next_power_of_2(m))
    return y
