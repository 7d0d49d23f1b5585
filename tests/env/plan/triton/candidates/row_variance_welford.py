# expected: plan
# task: gpu_row_variance
# steps: launch
# interpreted: no, though it is right: it takes a minute
import torch
import triton
import triton.language as tl


@triton.jit
def merge(mean_a, square_a, count_a, mean_b, square_b, count_b):
    count = count_a + count_b
    off = mean_b - mean_a
    share = tl.where(count > 0, count_b / tl.maximum(count, 1.0), 0.0)
    return mean_a + off * share, square_a + square_b + off * off * count_a * share, count


@triton.jit
def variance_kernel(x, y, m, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    mean = tl.zeros((BLOCK,), tl.float32)
    square = tl.zeros((BLOCK,), tl.float32)
    count = tl.zeros((BLOCK,), tl.float32)
    for begin in range(0, m, BLOCK):
        columns = begin + tl.arange(0, BLOCK)
        inside = columns < m
        value = tl.load(x + row * m + columns, mask=inside, other=0.0)
        count += inside.to(tl.float32)
        off = tl.where(inside, value - mean, 0.0)
        mean += off / tl.maximum(count, 1.0)
        square += off * tl.where(inside, value - mean, 0.0)
    mean, square, count = tl.reduce((mean, square, count), 0, merge)
    tl.store(y + row, square / m)


def launch(x, n, m):
    y = torch.empty(n, device=x.device)
    variance_kernel[(n,)](x, y, m, BLOCK=1024)
    return y
