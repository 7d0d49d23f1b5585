# problem: level2/6_batch_norm_leaky_mean.py
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
def normalise_kernel(x, means, squares, scale, shift, y, batch, channels, points, epsilon, IMAGES: tl.constexpr, BLOCK: tl.constexpr):
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
    value = tl.where(value > 0.0, value, 0.1 * value)
    tl.store(y + plane, tl.sum(tl.where(at < points, value, 0.0), axis=0) / points)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        batch, channels, height, width = x.shape
        points, block = height * width, triton.next_power_of_2(height * width)
        means = torch.empty(batch, channels, dtype=torch.float32, device=x.device)
        squares, y = torch.empty_like(means), torch.empty(batch, channels, dtype=x.dtype, device=x.device)
        grid = (batch * channels,)
        plane_statistics_kernel[grid](x, means, squares, points, BLOCK=block, num_warps=8)
        normalise_kernel[grid](x, means, squares, self.norm.weight, self.norm.bias, y, batch, channels, points, self.norm.eps,
                               IMAGES=triton.next_power_of_2(batch), BLOCK=block, num_warps=8)
        return y
