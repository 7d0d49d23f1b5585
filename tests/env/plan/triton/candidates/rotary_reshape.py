# expected: plan
# task: gpu_rotary_interleaved
# steps: launch
import torch
import triton
import triton.language as tl


@triton.jit
def rotary_kernel(x, c, s, y, n, rows, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    pair = tl.arange(0, 32)
    inside = row[:, None] < rows
    at = row[:, None] * 64 + tl.arange(0, 64)[None, :]
    left, right = tl.split(tl.reshape(tl.load(x + at, mask=inside, other=0.0), (BLOCK, 32, 2)))
    angle = (row % n)[:, None] * 32 + pair[None, :]
    cosine, sine = tl.load(c + angle, mask=inside, other=0.0), tl.load(s + angle, mask=inside, other=0.0)
    turned = tl.interleave(left * cosine - right * sine, right * cosine + left * sine)
    tl.store(y + at, turned, mask=inside)


def launch(x, c, s, p, h, n):
    y = torch.empty_like(x)
    rotary_kernel[(triton.cdiv(p * h * n, 16),)](x, c, s, y, n, p * h * n, BLOCK=16)
    return y
