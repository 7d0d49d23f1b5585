# expected: plan
# task: gpu_tanh_gelu_bf16
# steps: launch
# interpreted: no, the interpreter has no libdevice
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def gelu_kernel(x, y, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < count).to(tl.float32)
    inner = libdevice.tanh((values + values * values * values * 0.044715) * 0.7978845608)
    tl.store(y + at, (values * (inner + 1.0) * 0.5).to(tl.bfloat16), mask=at < count)


def launch(x, n, m):
    y = torch.empty_like(x)
    gelu_kernel[(triton.cdiv(n * m, 2048),)](x, y, n * m, BLOCK=2048, num_warps=8)
    return y
