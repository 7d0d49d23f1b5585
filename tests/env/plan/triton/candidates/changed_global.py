# expected: FAIL_PLAN exception
# says: has changed since we compiled this kernel
# shapes: [({"x": "f32 16"}, {"y": "f32 16"}, {"n": 16})]
import torch
import triton
import triton.language as tl


SCALE = tl.constexpr(2.0)


@triton.jit
def scale_kernel(x, y):
    tl.store(y + tl.arange(0, 16), tl.load(x + tl.arange(0, 16)) * SCALE)


def launch(x, n):
    global SCALE
    y = torch.empty_like(x)
    scale_kernel[(1,)](x, y)
    SCALE = tl.constexpr(3.0)
    scale_kernel[(1,)](x, y)
    return y
