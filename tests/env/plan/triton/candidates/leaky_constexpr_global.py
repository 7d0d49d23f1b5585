# expected: plan
# task: gpu_leaky_shift_f16
# steps: launch
import torch
import triton
import triton.language as tl


SLOPE = tl.constexpr(0.1)


@triton.jit
def leaky_kernel(x, a, y, n, m, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n * m
    values = tl.load(x + at, mask=inside) + tl.load(a + at % m, mask=inside)
    tl.store(y + at, tl.where(values > 0, values, (values.to(tl.float32) * SLOPE).to(tl.float16)), mask=inside)


def launch(x, a, n, m):
    y = torch.empty_like(x)
    leaky_kernel[(triton.cdiv(x.numel(), 1024),)](x, a, y, n, m, BLOCK=1024)
    return y
