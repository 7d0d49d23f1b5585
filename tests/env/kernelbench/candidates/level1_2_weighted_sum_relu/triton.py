# problem: level1/2_weighted_sum_relu.py
# backend: triton
# strict: PASS
# comparable: correct
# why: right, in Triton
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 1024}, num_warps=4), triton.Config({"BLOCK": 4096}, num_warps=8)], key=["n"])
@triton.jit
def weighted_sum_kernel(x, y, out, alpha, beta, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    total = alpha * tl.load(x + at, mask=inside) + beta * tl.load(y + at, mask=inside)
    tl.store(out + at, tl.maximum(total, 0.0, propagate_nan=tl.PropagateNan.ALL), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, alpha, beta):
        super().__init__()
        self.alpha, self.beta = alpha, beta

    def forward(self, x, y):
        out = torch.empty_like(x)
        weighted_sum_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, out, self.alpha, self.beta, x.numel())
        return out
