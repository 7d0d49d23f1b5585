# expected: plan
# shapes: [({"x": "f32 1000"}, {"y": "f32 1000"}, {"n": 1000})]
# steps: launch launch
import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) + 1.0, mask=at < n)


kernels = {}


def launch(x, n):
    y = torch.empty_like(x)
    if n not in kernels:
        kernels[n] = add_kernel.warmup(torch.float32, torch.float32, n, BLOCK=256, grid=(1,))
    kernels[n][(triton.cdiv(n, 256), 1, 1)](x, y, n, 256)
    return add_again(x, y, n)


def add_again(x, y, n):
    add_kernel[(triton.cdiv(n, 256),)](x, y, n, BLOCK=256)
    return y
