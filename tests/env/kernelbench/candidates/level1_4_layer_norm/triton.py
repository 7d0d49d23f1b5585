# problem: level1/4_layer_norm.py
# backend: triton
# strict: PASS
# comparable: correct
# why: right, in Triton
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def layer_norm_kernel(x, scale, shift, y, width, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < width
    value = tl.load(x + row * width + at, mask=inside, other=0.0)
    centred = tl.where(inside, value - tl.sum(value, axis=0) / width, 0.0)
    deviation = tl.sqrt(tl.sum(centred * centred, axis=0) / width + epsilon)
    result = centred / deviation * tl.load(scale + at, mask=inside) + tl.load(shift + at, mask=inside)
    tl.store(y + row * width + at, result, mask=inside)


def layer_norm(x, norm):
    y, width = torch.empty_like(x), x.shape[-1]
    layer_norm_kernel[(x.numel() // width,)](x, norm.weight, norm.bias, y, width, norm.eps, BLOCK=triton.next_power_of_2(width), num_warps=8)
    return y


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return layer_norm(x, self.norm)
