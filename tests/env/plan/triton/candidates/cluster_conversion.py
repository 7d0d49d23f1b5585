# expected: FAIL_COMPILE compiler
# says: error: 'nvvm.mapa' op
# shapes: [({"x": "f32 64 128", "a": "f32 128"}, {"y": "f32 64 128"}, {"n": 64})]
import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x, a, y):
    at = tl.arange(0, 64)[:, None] * 128 + tl.arange(0, 128)[None, :]
    tl.store(y + at, tl.load(x + at) * tl.load(a + tl.arange(0, 128))[None, :])


def launch(x, a, n):
    y = torch.empty_like(x)
    scale_kernel[(1,)](x, a, y, num_ctas=2)
    return y
