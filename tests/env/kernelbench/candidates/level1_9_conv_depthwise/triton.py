# problem: level1/9_conv_depthwise.py
# backend: triton
# strict: PASS
# comparable: correct
# why: right, in Triton
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def depthwise_kernel(x, weight, bias, y, channels, height, width, KERNEL: tl.constexpr, BLOCK: tl.constexpr):
    plane = tl.program_id(1)
    channel = plane % channels
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row, column = at // width, at % width
    total = tl.zeros((BLOCK,), tl.float32) + tl.load(bias + channel)
    for i in tl.static_range(KERNEL):
        for j in tl.static_range(KERNEL):
            from_row, from_column = row + i - KERNEL // 2, column + j - KERNEL // 2
            inside = (from_row >= 0) & (from_row < height) & (from_column >= 0) & (from_column < width)
            value = tl.load(x + (plane * height + from_row) * width + from_column, mask=inside, other=0.0)
            total += value * tl.load(weight + (channel * KERNEL + i) * KERNEL + j)
    tl.store(y + plane * height * width + at, total, mask=at < height * width)


class ModelNew(nn.Module):
    def __init__(self, channels, kernel):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, kernel, padding=kernel // 2, groups=channels)
        self.kernel = kernel

    def forward(self, x):
        batch, channels, height, width = x.shape
        y = torch.empty_like(x)
        grid = (triton.cdiv(height * width, 1024), batch * channels)
        depthwise_kernel[grid](x, self.conv.weight, self.conv.bias, y, channels, height, width, KERNEL=self.kernel, BLOCK=1024)
        return y
