import torch
import torch.nn as nn

BATCH, IN_CHANNELS, OUT_CHANNELS, HEIGHT, WIDTH = 2, 3, 16, 13, 11
GROUPS = 8


class Model(nn.Module):
    """A convolution, ReLU, and normalisation in groups of channels."""

    def __init__(self, in_channels: int, out_channels: int, groups: int):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3, padding=1)
        self.norm = nn.GroupNorm(groups, out_channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(torch.relu(self.conv(x)))


def get_inputs():
    return [torch.randn(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, GROUPS]
