# expected: FAIL_PLAN two_runs
# says: arguments of copy_kernel
# shapes: [({"x": "f32 16"}, {"y": "f32 16"}, {"n": 16})]
import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x, y, address):
    tl.store(y + tl.arange(0, 16), tl.load(x + tl.arange(0, 16)) + (address & 255).to(tl.float32))


def launch(x, n):
    y = torch.empty_like(x)
    copy_kernel[(1,)](x, y, x.data_ptr() >> 4)
    return y
