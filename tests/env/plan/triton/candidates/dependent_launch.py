# expected: plan
# task: gpu_l2_norm
# steps: launch launch
# interpreted: no, the interpreter has no dependent launches
import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait


@triton.jit
def lengths_kernel(x, s, m, BLOCK: tl.constexpr):
    gdc_launch_dependents()
    row, columns = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * m + columns, mask=columns < m, other=0.0)
    tl.store(s + row, tl.rsqrt(tl.sum(values * values, axis=0) + 1e-5))


@triton.jit
def scale_kernel(x, s, y, m, BLOCK: tl.constexpr):
    row, columns = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * m + columns, mask=columns < m, other=0.0)
    gdc_wait()
    tl.store(y + row * m + columns, values * tl.load(s + row), mask=columns < m)


def launch(x, n, m):
    s, y = torch.empty(n, device=x.device), torch.empty_like(x)
    block = triton.next_power_of_2(m)
    lengths_kernel[(n,)](x, s, m, BLOCK=block, launch_pdl=True)
    scale_kernel[(n,)](x, s, y, m, BLOCK=block, launch_pdl=True)
    return y
