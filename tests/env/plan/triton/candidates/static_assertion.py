# expected: FAIL_COMPILE compiler
# says: CompileTimeAssertionFailure: block too small
# shapes: [({"x": "f32 16"}, {"y": "f32 16"}, {"n": 16})]
import torch
import triton
import triton.language as tl


@triton.jit
def bad_kernel(x, y, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK > 16, "block too small")
    tl.store(y + tl.arange(0, BLOCK), tl.load(x + tl.arange(0, BLOCK)))


def launch(x, n):
    y = torch.empty_like(x)
    bad_kernel[(1,)](x, y, 16)
    return y
