# expected: FAIL_COMPILE compiler
# says: power of 2 (line 11: at = tl.arange(0, BLOCK))
# shapes: [({"x": "f32 16"}, {"y": "f32 16"}, {"n": 16})]
import torch
import triton
import triton.language as tl


@triton.jit
def bad_kernel(x, y, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n), mask=at < n)


def launch(x, n):
    y = torch.empty_like(x)
    bad_kernel[(1,)](x, y, n, BLOCK=100)
    return y
