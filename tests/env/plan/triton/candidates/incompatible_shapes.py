# expected: FAIL_COMPILE compiler
# says: Cannot make_shape_compatible
# shapes: [({"x": "f32 16"}, {"y": "f32 16"}, {"n": 16})]
import torch
import triton
import triton.language as tl


@triton.jit
def add(a, b):
    return a + b


@triton.jit
def bad_kernel(x, y):
    at = tl.arange(0, 16)
    tl.store(y + at, add(tl.load(x + at), tl.arange(0, 8)))


def launch(x, n):
    y = torch.empty_like(x)
    bad_kernel[(1,)](x, y)
    return y
