# reason: reference_fails
import torch
import torch.nn as nn

ROWS, COLUMNS = 64, 32


class Model(nn.Module):
    """A product whose inner sizes do not agree."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ x


def get_inputs():
    return [torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return []
