# expected: FAIL_COMPILE ptxas
# says: ptxas
# shapes: [({"x": "f32 16"}, {"y": "f32 16"}, {"n": 16})]
import torch
import triton
import triton.language as tl


@triton.jit
def bad_kernel(x, y):
    at = tl.arange(0, 16)
    values = tl.inline_asm_elementwise("nonsense.f32 $0, $1;", "=r,r", [tl.load(x + at)], dtype=tl.float32, is_pure=True, pack=1)
    tl.store(y + at, values)


def launch(x, n):
    y = torch.empty_like(x)
    bad_kernel[(1,)](x, y)
    return y
