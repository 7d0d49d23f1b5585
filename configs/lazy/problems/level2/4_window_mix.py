import torch
import torch.nn as nn

LENGTH, WIDTH = 4096, 4096
WINDOW, SCALE = 2048, 0.5


class Model(nn.Module):
    """Each position gets a mixture of the last ones up to it, times a factor, added to it."""

    def __init__(self, length: int, window: int, scale: float):
        super().__init__()
        self.mix = nn.Parameter(torch.randn(length, length) * length**-0.5)
        self.window = window
        self.scale = scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mix = torch.triu(torch.tril(self.mix), 1 - self.window)
        return x + (mix @ x) * self.scale


def get_inputs():
    return [torch.randn(LENGTH, WIDTH)]


def get_init_inputs():
    return [LENGTH, WINDOW, SCALE]
