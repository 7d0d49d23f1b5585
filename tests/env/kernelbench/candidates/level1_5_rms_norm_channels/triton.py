# problem: level1/5_rms_norm_channels.py
# backend: triton
# strict: PASS
# comparable: correct
# why: right, in Triton
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rms_norm_kernel(x, scale, y, channels, points, epsilon, CHANNELS: tl.constexpr, POINTS: tl.constexpr):
    channel = tl.arange(0, CHANNELS)[:, None]
    point = (tl.program_id(0) * POINTS + tl.arange(0, POINTS))[None, :]
    inside = (channel < channels) & (point < points)
    at = (tl.program_id(1) * channels + channel) * points + point
    value = tl.load(x + at, mask=inside, other=0.0)
    root = tl.sqrt(tl.sum(value * value, axis=0) / channels + epsilon)[None, :]
    tl.store(y + at, value / root * tl.load(scale + channel, mask=channel < channels), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, channels, epsilon):
        super().__init__()
        self.epsilon = epsilon
        self.scale = nn.Parameter(torch.rand(channels) + 0.5)

    def forward(self, x):
        batch, channels, height, width = x.shape
        points, y = height * width, torch.empty_like(x)
        grid = (triton.cdiv(points, 64), batch)
        rms_norm_kernel[grid](x, self.scale, y, channels, points, self.epsilon, CHANNELS=triton.next_power_of_2(channels), POINTS=64)
        return y
