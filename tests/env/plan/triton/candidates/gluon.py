# expected: plan
# task: gpu_clamp_square
# steps: launch
# interpreted: no, the interpreter knows no layouts
import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def clamp_kernel(x, z, a, y, m, count, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    at = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    inside = at < count
    off = gl.load(x + at, mask=inside) - gl.load(z + at, mask=inside)
    off = gl.minimum(gl.maximum(off, -1.0), 1.0)
    gl.store(y + at, off * off * gl.load(a + at % m, mask=inside), mask=inside)


def launch(x, z, a, n, m):
    y = torch.empty_like(x)
    clamp_kernel[(triton.cdiv(n * m, 512),)](x, z, a, y, m, n * m, BLOCK=512, num_warps=4)
    return y
