# expected: plan
# task: gpu_gated_recurrence
# steps: launch
import torch
import triton
import triton.language as tl


@triton.jit
def recurrence_kernel(x, g, y, t, m, BLOCK: tl.constexpr):
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = columns < m
    state = tl.zeros((BLOCK,), tl.float32)
    for step in range(t):
        state = state * tl.load(g + step * m + columns, mask=inside) + tl.load(x + step * m + columns, mask=inside)
        tl.store(y + step * m + columns, state, mask=inside)


def launch(x, g, t, m):
    y = torch.empty_like(x)
    recurrence_kernel[(triton.cdiv(m, 128),)](x, g, y, t, m, BLOCK=128)
    return y
