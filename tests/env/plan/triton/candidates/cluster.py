# expected: plan
# task: gpu_gaussian_gate
# steps: launch
import torch
import triton
import triton.language as tl


@triton.jit
def gate_kernel(x, z, y, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < count, other=0.0)
    tl.store(y + at, tl.load(z + at, mask=at < count, other=0.0) * tl.exp(-values * values), mask=at < count)


def launch(x, z, n, m):
    y = torch.empty_like(x)
    gate_kernel[(triton.cdiv(n * m, 2048),)](x, z, y, n * m, BLOCK=2048, num_ctas=2, num_warps=4)
    return y
