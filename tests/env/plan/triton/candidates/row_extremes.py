# expected: plan
# task: gpu_row_extremes
# steps: launch copy copy
import torch
import triton
import triton.language as tl


@triton.jit
def extremes_kernel(x, y, i, j, m, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    greatest, at_greatest = tl.max(tl.load(x + row * m + columns, mask=columns < m, other=-float("inf")), axis=0, return_indices=True)
    least, at_least = tl.min(tl.load(x + row * m + columns, mask=columns < m, other=float("inf")), axis=0, return_indices=True)
    tl.store(y + row, greatest - least)
    tl.store(i + row, at_greatest)
    tl.store(j + row, at_least)


def launch(x, n, m):
    y = torch.empty(n, device=x.device)
    i, j = torch.empty((2, n), dtype=torch.int32, device=x.device).unbind(0)
    extremes_kernel[(n,)](x, y, i, j, m, BLOCK=triton.next_power_of_2(m))
    return y, i.clone(), j.clone()
