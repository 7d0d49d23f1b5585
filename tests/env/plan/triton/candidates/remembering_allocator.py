# expected: FAIL_PLAN remembered
# shapes: [({"x": "f32 64 64"}, {"y": "f32 64 64"}, {"n": 64})]
import torch
import triton
import triton.language as tl


buffers = {}


def remembering(size, alignment, stream):
    if size not in buffers:
        buffers[size] = torch.empty(size, dtype=torch.int8, device="cuda")
    return buffers[size]


@triton.jit
def copy_kernel(x, y, n):
    source = tl.make_tensor_descriptor(x, [n, n], [n, 1], [32, 32])
    target = tl.make_tensor_descriptor(y, [n, n], [n, 1], [32, 32])
    target.store([0, 0], source.load([0, 0]))


def launch(x, n):
    y = torch.empty_like(x)
    triton.set_allocator(remembering)
    copy_kernel[(1,)](x, y, n)
    return y
