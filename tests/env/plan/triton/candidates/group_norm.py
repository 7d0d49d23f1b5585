# expected: plan
# task: gpu_group_norm
# steps: launch
import torch
import triton
import triton.language as tl


@triton.jit
def group_norm_kernel(x, w, b, y, size, area, channels, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    group = tl.program_id(0)
    x += group.to(tl.int64) * size
    y += group.to(tl.int64) * size
    total = tl.zeros((BLOCK,), tl.float32)
    for begin in range(0, size, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        total += tl.load(x + at, mask=at < size, other=0.0)
    mean = tl.sum(total, axis=0) / size
    squares = tl.zeros((BLOCK,), tl.float32)
    for begin in range(0, size, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        off = tl.where(at < size, tl.load(x + at, mask=at < size, other=0.0) - mean, 0.0)
        squares += off * off
    scale = tl.rsqrt(tl.sum(squares, axis=0) / size + 1e-5)
    first = group % GROUPS * channels
    for begin in range(0, size, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        channel = first + at // area
        values = (tl.load(x + at, mask=at < size) - mean) * scale
        values = values * tl.load(w + channel, mask=at < size) + tl.load(b + channel, mask=at < size)
        tl.store(y + at, values, mask=at < size)


def launch(x, w, b, p, c, h, q):
    y = torch.empty_like(x)
    group_norm_kernel[(p * 8,)](x, w, b, y, c // 8 * h * q, h * q, c // 8, GROUPS=8, BLOCK=1024)
    return y
