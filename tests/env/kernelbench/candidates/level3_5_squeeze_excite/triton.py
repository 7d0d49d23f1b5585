# problem: level3/5_squeeze_excite.py
# backend: triton
# strict: PASS
# comparable: correct
# why: right, in Triton
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mean_kernel(x, means, points, BLOCK: tl.constexpr):
    plane = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    tl.store(means + plane, tl.sum(tl.load(x + plane * points + at, mask=at < points, other=0.0), axis=0) / points)


@triton.jit
def gate_kernel(means, down, down_bias, up, up_bias, gates, channels, squeezed, CHANNELS: tl.constexpr, SQUEEZED: tl.constexpr):
    image = tl.program_id(0)
    channel, small = tl.arange(0, CHANNELS), tl.arange(0, SQUEEZED)
    mean = tl.load(means + image * channels + channel, mask=channel < channels, other=0.0)
    both = (small[:, None] < squeezed) & (channel[None, :] < channels)
    weight = tl.load(down + small[:, None] * channels + channel[None, :], mask=both, other=0.0)
    inner = tl.maximum(tl.sum(weight * mean[None, :], axis=1) + tl.load(down_bias + small, mask=small < squeezed, other=0.0), 0.0)
    weight = tl.load(up + channel[None, :] * squeezed + small[:, None], mask=both, other=0.0)
    gate = tl.sum(weight * inner[:, None], axis=0) + tl.load(up_bias + channel, mask=channel < channels, other=0.0)
    tl.store(gates + image * channels + channel, tl.sigmoid(gate), mask=channel < channels)


@triton.jit
def scale_kernel(x, gates, y, points, BLOCK: tl.constexpr):
    plane = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + plane * points + at, mask=at < points) * tl.load(gates + plane)
    tl.store(y + plane * points + at, value, mask=at < points)


class ModelNew(nn.Module):
    def __init__(self, channels, squeezed):
        super().__init__()
        self.down = nn.Linear(channels, squeezed)
        self.up = nn.Linear(squeezed, channels)

    def forward(self, x):
        batch, channels, height, width = x.shape
        squeezed, points, block = self.down.out_features, height * width, triton.next_power_of_2(height * width)
        means = torch.empty(batch, channels, dtype=x.dtype, device=x.device)
        gates, y = torch.empty_like(means), torch.empty_like(x)
        mean_kernel[(batch * channels,)](x, means, points, BLOCK=block, num_warps=8)
        gate_kernel[(batch,)](means, self.down.weight, self.down.bias, self.up.weight, self.up.bias, gates, channels, squeezed,
                              CHANNELS=triton.next_power_of_2(channels), SQUEEZED=triton.next_power_of_2(squeezed))
        scale_kernel[(batch * channels,)](x, gates, y, points, BLOCK=block, num_warps=8)
        return y
