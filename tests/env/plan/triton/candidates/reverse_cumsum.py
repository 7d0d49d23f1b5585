# expected: plan
# task: gpu_reverse_cumsum
# steps: launch
import torch
import triton
import triton.language as tl


@triton.jit
def cumsum_kernel(x, y, m, BLOCK: tl.constexpr):
    row = tl.program_id(0) * m
    columns = tl.arange(0, BLOCK)
    values = tl.load(x + row + columns, mask=columns < m, other=0.0)
    tl.store(y + row + columns, tl.cumsum(values, axis=0, reverse=True), mask=columns < m)


def launch(x, n, m):
    y = torch.empty_like(x)
    cumsum_kernel[(n,)](x, y, m, BLOCK=triton.next_power_of_2(m), num_warps=8)
    return y
