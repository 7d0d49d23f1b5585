# problem: level1/1_gelu_tanh.py
# backend: triton
# strict: PASS
# comparable: correct
# why: Triton times configurations in the first call and keeps the best.
# runs_on: cuda
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 512 << at}, num_warps=4 + 4 * (at % 2)) for at in range(5)], key=["n"])
@triton.jit
def gelu_kernel(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    inner = 0.7978845608028654 * (value + 0.044715 * value * value * value)
    tl.store(y + at, value * tl.sigmoid(2.0 * inner), mask=at < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        gelu_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel())
        return y
