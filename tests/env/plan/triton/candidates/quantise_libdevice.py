# expected: plan
# task: gpu_quantise
# steps: launch
# interpreted: no, the interpreter has no libdevice
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def quantise_kernel(x, q, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = libdevice.rint(tl.load(x + at, mask=at < n) * 16.0)
    tl.store(q + at, tl.clamp(values, -127.0, 127.0).to(tl.int32), mask=at < n)


def launch(x, n):
    q = torch.empty_like(x, dtype=torch.int32)
    quantise_kernel[(triton.cdiv(n, 1024),)](x, q, n, BLOCK=1024)
    return q
