# problem: level2/4_add_layer_norm_relu.py
# backend: triton
# strict: PASS
# comparable: correct
# why: right, in Triton
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_norm_kernel(x, residual, scale, shift, y, width, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < width
    value = tl.load(x + row * width + at, mask=inside, other=0.0) + tl.load(residual + row * width + at, mask=inside, other=0.0)
    centred = tl.where(inside, value - tl.sum(value, axis=0) / width, 0.0)
    deviation = tl.sqrt(tl.sum(centred * centred, axis=0) / width + epsilon)
    result = centred / deviation * tl.load(scale + at, mask=inside) + tl.load(shift + at, mask=inside)
    tl.store(y + row * width + at, tl.maximum(result, 0.0), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x, residual):
        rows, width = x.shape
        y = torch.empty_like(x)
        add_norm_kernel[(rows,)](x, residual, self.norm.weight, self.norm.bias, y, width, self.norm.eps, BLOCK=triton.next_power_of_2(width))
        return y
