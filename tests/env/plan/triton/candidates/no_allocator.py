# expected: FAIL_PLAN exception
# says: set_allocator
# shapes: [({"x": "f32 64 64"}, {"y": "f32 64 64"}, {"n": 64})]
import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x, y, n):
    source = tl.make_tensor_descriptor(x, [n, n], [n, 1], [32, 32])
    target = tl.make_tensor_descriptor(y, [n, n], [n, 1], [32, 32])
    target.store([0, 0], source.load([0, 0]))


def launch(x, n):
    y = torch.empty_like(x)
    copy_kernel[(1,)](x, y, n)
    return y
