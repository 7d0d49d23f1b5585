# expected: plan
# task: gpu_layer_norm
# steps: launch
import torch
import triton
import triton.language as tl


@triton.jit
def layer_norm_kernel(x, w, b, y, m, epsilon, BLOCK: tl.constexpr):
    x += tl.program_id(0) * m
    y += tl.program_id(0) * m
    total = tl.zeros((BLOCK,), tl.float32)
    for begin in range(0, m, BLOCK):
        columns = begin + tl.arange(0, BLOCK)
        total += tl.load(x + columns, mask=columns < m, other=0.0)
    mean = tl.sum(total, axis=0) / m
    squares = tl.zeros((BLOCK,), tl.float32)
    for begin in range(0, m, BLOCK):
        columns = begin + tl.arange(0, BLOCK)
        off = tl.where(columns < m, tl.load(x + columns, mask=columns < m, other=0.0) - mean, 0.0)
        squares += off * off
    scale = tl.rsqrt(tl.sum(squares, axis=0) / m + epsilon)
    for begin in range(0, m, BLOCK):
        columns = begin + tl.arange(0, BLOCK)
        inside = columns < m
        values = (tl.load(x + columns, mask=inside) - mean) * scale
        tl.store(y + columns, values * tl.load(w + columns, mask=inside) + tl.load(b + columns, mask=inside), mask=inside)


def launch(x, w, b, n, m):
    y = torch.empty_like(x)
    layer_norm_kernel[(n,)](x, w, b, y, m, 1e-5, BLOCK=min(2048, triton.next_power_of_2(m)), num_warps=8)
    return y
