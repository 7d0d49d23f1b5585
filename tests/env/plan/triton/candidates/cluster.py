# expected: plan
# task: gpu_scale_shift_relu
# steps: launch
import torch
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x, a, b, y, n, m, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside = (rows[:, None] < n) & (columns[None, :] < m)
    at = rows[:, None] * m + columns[None, :]
    scale, shift = tl.load(a + columns, mask=columns < m, other=0.0), tl.load(b + rows, mask=rows < n, other=0.0)
    tl.store(y + at, tl.maximum(tl.load(x + at, mask=inside) * scale[None, :] + shift[:, None], 0.0), mask=inside)


def launch(x, a, b, n, m):
    y = torch.empty_like(x)
    relu_kernel[(triton.cdiv(n, 64), triton.cdiv(m, 128))](x, a, b, y, n, m, 64, 128, num_ctas=2, num_warps=4)
    return y
