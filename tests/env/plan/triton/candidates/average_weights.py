# expected: plan
# task: gpu_average_weights_bf16
# steps: launch
import torch
import triton
import triton.language as tl


@triton.jit
def average_kernel(p, m, h, q, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(m + at, mask=at < n) * 0.99 + tl.load(p + at, mask=at < n).to(tl.float32) * 0.01
    tl.store(h + at, values, mask=at < n)
    tl.store(q + at, values.to(tl.bfloat16), mask=at < n)


def launch(p, m, n):
    h = torch.empty_like(m)
    q = torch.empty_like(h, dtype=torch.bfloat16)
    average_kernel[(triton.cdiv(n, 2048),)](p, m, h, q, n, BLOCK=2048)
    return [h, q]
