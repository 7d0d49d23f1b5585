# expected: plan
# shapes: [({"x": "f32 16"}, {"y": "f32 16"}, {"n": 16})]
# steps: memset launch
import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) + 1.0, mask=at < n)


def launch(x, n):
    y = torch.zeros_like(x)
    add_kernel[(0,)](x, y, n, BLOCK=16)
    add_kernel[(1,)](x, y, n, BLOCK=16)
    return y
