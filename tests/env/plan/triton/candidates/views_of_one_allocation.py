# expected: plan
# task: gpu_sgd_momentum
# steps: launch copy copy
import torch
import triton
import triton.language as tl


@triton.jit
def step_kernel(p, g, m, q, h, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    momentum = tl.load(m + at, mask=at < n) * 0.9 + tl.load(g + at, mask=at < n)
    tl.store(h + at, momentum, mask=at < n)
    tl.store(q + at, tl.load(p + at, mask=at < n) - momentum * 0.01, mask=at < n)


def launch(p, g, m, n):
    both = torch.empty((2, n), device=p.device)
    step_kernel[(triton.cdiv(n, 1024),)](p, g, m, both[0], both[1], n, BLOCK=1024)
    return both[0], both[1]
