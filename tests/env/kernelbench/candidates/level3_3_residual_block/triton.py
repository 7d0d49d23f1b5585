# problem: level3/3_residual_block.py
# backend: triton
# strict: PASS
# comparable: correct
# why: right, in Triton
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def plane_statistics_kernel(x, means, squares, points, BLOCK: tl.constexpr):
    """The mean of each plane and the sum of the squares about it."""
    plane = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + plane * points + at, mask=at < points, other=0.0)
    mean = tl.sum(value, axis=0) / points
    centred = tl.where(at < points, value - mean, 0.0)
    tl.store(means + plane, mean)
    tl.store(squares + plane, tl.sum(centred * centred, axis=0))


@triton.jit
def normalise_kernel(x, means, squares, scale, shift, added, y, batch, channels, points, epsilon, ADDS: tl.constexpr, IMAGES: tl.constexpr,
                     BLOCK: tl.constexpr):
    plane = tl.program_id(0)
    channel = plane % channels
    image = tl.arange(0, IMAGES)
    plane_mean = tl.load(means + image * channels + channel, mask=image < batch, other=0.0)
    mean = tl.sum(plane_mean, axis=0) / batch
    between = tl.where(image < batch, plane_mean - mean, 0.0)
    within = tl.load(squares + image * channels + channel, mask=image < batch, other=0.0)
    variance = (tl.sum(within, axis=0) + tl.sum(between * between, axis=0) * points) / (batch * points)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + plane * points + at, mask=at < points, other=0.0)
    value = (value - mean) / tl.sqrt(variance + epsilon) * tl.load(scale + channel) + tl.load(shift + channel)
    if ADDS:
        value += tl.load(added + plane * points + at, mask=at < points, other=0.0)
    tl.store(y + plane * points + at, tl.maximum(value, 0.0), mask=at < points)


def batch_norm_relu(x, norm, added=None):
    """ReLU of the normalised x, to which `added` comes before."""
    batch, channels, height, width = x.shape
    points, block = height * width, triton.next_power_of_2(height * width)
    means = torch.empty(batch, channels, dtype=torch.float32, device=x.device)
    squares, y, grid = torch.empty_like(means), torch.empty_like(x), (batch * channels,)
    plane_statistics_kernel[grid](x, means, squares, points, BLOCK=block, num_warps=8)
    normalise_kernel[grid](x, means, squares, norm.weight, norm.bias, x if added is None else added, y, batch, channels, points, norm.eps,
                           ADDS=added is not None, IMAGES=triton.next_power_of_2(batch), BLOCK=block, num_warps=8)
    return y


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        y = batch_norm_relu(self.conv1(x).contiguous(), self.norm1)
        return batch_norm_relu(self.conv2(y).contiguous(), self.norm2, x)
