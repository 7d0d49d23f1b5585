import torch
import torch.nn as nn

BATCH, MIDDLE, WIDTH = 3, 75, 140


class Model(nn.Module):
    """The sum over the middle dimension."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sum(x, dim=1)


def get_inputs():
    return [torch.randn(BATCH, MIDDLE, WIDTH)]


def get_init_inputs():
    return []
