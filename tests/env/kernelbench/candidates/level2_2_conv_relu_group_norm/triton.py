# problem: level2/2_conv_relu_group_norm.py
# backend: triton
# strict: PASS
# comparable: correct
# why: right, in Triton
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_group_norm_kernel(x, scale, shift, y, groups, channels_of_group, points, epsilon, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    size = channels_of_group * points
    x += program * size
    y += program * size
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, size, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.maximum(tl.load(x + at, mask=at < size, other=0.0), 0.0)
    mean = tl.sum(total, axis=0) / size
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, size, BLOCK):
        at = start + tl.arange(0, BLOCK)
        centred = tl.where(at < size, tl.maximum(tl.load(x + at, mask=at < size, other=0.0), 0.0) - mean, 0.0)
        squares += centred * centred
    deviation = tl.sqrt(tl.sum(squares, axis=0) / size + epsilon)
    for start in range(0, size, BLOCK):
        at = start + tl.arange(0, BLOCK)
        channel = program % groups * channels_of_group + at // points
        value = (tl.maximum(tl.load(x + at, mask=at < size, other=0.0), 0.0) - mean) / deviation
        value = value * tl.load(scale + channel, mask=at < size) + tl.load(shift + channel, mask=at < size)
        tl.store(y + at, value, mask=at < size)


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, groups):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3, padding=1)
        self.norm = nn.GroupNorm(groups, out_channels)

    def forward(self, x):
        x = self.conv(x).contiguous()
        y, groups = torch.empty_like(x), self.norm.num_groups
        batch, channels, height, width = x.shape
        relu_group_norm_kernel[(batch * groups,)](x, self.norm.weight, self.norm.bias, y, groups, channels // groups, height * width,
                                                  self.norm.eps, BLOCK=4096, num_warps=16)
        return y
