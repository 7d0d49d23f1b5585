# reason: reference_fails
import torch
import torch.nn as nn

ROWS, COLUMNS = 64, 32


class Model(nn.Module):
    """The logarithm of numbers of both signs: half of the result is NaN."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.log(x)


def get_inputs():
    return [torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return []
