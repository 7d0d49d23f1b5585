# expected: plan
# task: gpu_hard_swish
# steps: launch
# interpreted: no, the interpreter has no assembly
import torch
import triton
import triton.language as tl


@triton.jit
def swish_kernel(x, y, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < count)
    inside = tl.inline_asm_elementwise("max.f32 $0, $1, 0f00000000; min.f32 $0, $0, 0f40C00000;", "=r,r", [values + 3.0],
                                       dtype=tl.float32, is_pure=True, pack=1)
    tl.store(y + at, values * inside / 6.0, mask=at < count)


def launch(x, n, m):
    y = torch.empty_like(x)
    swish_kernel[(triton.cdiv(n * m, 1024),)](x, y, n * m, BLOCK=1024)
    return y
