# expected: FAIL_COMPILE compiler
# shapes: [({"x": "f32 16"}, {"y": "f32 16"}, {"n": 16})]
import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x, y):
    tl.store(y + tl.arange(0, 16), tl.load(x + tl.arange(0, 16)))


def launch(x, n):
    y = torch.empty_like(x)
    copy_kernel[(1,)](n, y)
    return y
