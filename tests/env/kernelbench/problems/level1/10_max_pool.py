import torch
import torch.nn as nn

BATCH, CHANNELS, HEIGHT, WIDTH = 32, 64, 256, 256
KERNEL, STRIDE, PADDING = 3, 2, 1


class Model(nn.Module):
    """The largest value of each window."""

    def __init__(self, kernel: int, stride: int, padding: int):
        super().__init__()
        self.pool = nn.MaxPool2d(kernel, stride, padding)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pool(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [KERNEL, STRIDE, PADDING]
