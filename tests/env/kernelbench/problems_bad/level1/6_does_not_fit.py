# reason: does_not_fit
import torch
import torch.nn as nn

ROWS, COLUMNS = 1048576, 1048576


class Model(nn.Module):
    """Four terabytes in, four out."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x)


def get_inputs():
    return [torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return []
