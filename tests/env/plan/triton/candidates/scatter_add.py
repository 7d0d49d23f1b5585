# expected: plan
# task: gpu_scatter_add
# steps: copy launch
import torch
import triton
import triton.language as tl


@triton.jit
def scatter_kernel(x, r, y, m, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    target = tl.load(r + row)
    tl.atomic_add(y + target * m + columns, tl.load(x + row * m + columns, mask=columns < m, other=0.0), mask=columns < m)


def launch(z, x, r, k, n, m):
    y = z.clone()
    scatter_kernel[(k, triton.cdiv(m, 512))](x, r, y, m, BLOCK=512)
    return y
