# expected: FAIL_PLAN cluster
# says: at most 8
# shapes: [({"x": "f32 4096"}, {"y": "f32 4096"}, {"n": 4096})]
import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x, y, BLOCK: tl.constexpr):
    tl.store(y + tl.arange(0, BLOCK), tl.load(x + tl.arange(0, BLOCK)))


def launch(x, n):
    y = torch.empty_like(x)
    copy_kernel[(1,)](x, y, n, num_ctas=16)
    return y
