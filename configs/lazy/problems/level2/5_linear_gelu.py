import torch
import torch.nn as nn

LENGTH, WIDTH = 4096, 4096
SCALE = 0.75


class Model(nn.Module):
    """A linear layer, GELU, and a factor."""

    def __init__(self, width: int, scale: float):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.scale = scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.gelu(self.linear(x)) * self.scale


def get_inputs():
    return [torch.randn(LENGTH, WIDTH)]


def get_init_inputs():
    return [WIDTH, SCALE]
