# expected: plan
# task: gpu_gather_rows
# steps: launch
import torch
import triton
import triton.language as tl


@triton.jit
def gather_kernel(x, r, y, m, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    source = tl.load(r + row).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + row * m + columns, tl.load(x + source * m + columns, mask=columns < m), mask=columns < m)


def launch(x, r, k, n, m):
    y = x.new_empty((k, m))
    gather_kernel[(k, triton.cdiv(m, 1024))](x, r, y, m, BLOCK=1024)
    return y
