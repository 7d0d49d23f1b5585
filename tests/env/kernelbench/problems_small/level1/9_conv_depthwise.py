import torch
import torch.nn as nn

BATCH, CHANNELS, HEIGHT, WIDTH = 2, 6, 19, 23
KERNEL = 3


class Model(nn.Module):
    """A convolution of each channel on its own, the same size out as in."""

    def __init__(self, channels: int, kernel: int):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, kernel, padding=kernel // 2, groups=channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, KERNEL]
