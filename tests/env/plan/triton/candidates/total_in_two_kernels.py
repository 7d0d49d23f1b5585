# expected: plan
# task: gpu_total_product
# steps: launch launch
import torch
import triton
import triton.language as tl


@triton.jit
def partial_kernel(x, z, partial, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    products = tl.load(x + at, mask=at < count, other=0.0).to(tl.float64) * tl.load(z + at, mask=at < count, other=0.0)
    tl.store(partial + tl.program_id(0), tl.sum(products, axis=0))


@triton.jit
def total_kernel(partial, y, count, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float64)
    for begin in range(0, count, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        total += tl.load(partial + at, mask=at < count, other=0.0)
    tl.store(y, tl.sum(total, axis=0).to(tl.float32))


def launch(x, z, n, m):
    programs = triton.cdiv(n * m, 4096)
    partial = torch.empty(programs, dtype=torch.float64, device=x.device)
    y = torch.empty(1, device=x.device)
    partial_kernel[(programs,)](x, z, partial, n * m, BLOCK=4096)
    total_kernel[(1,)](partial, y, programs, BLOCK=1024)
    return y
