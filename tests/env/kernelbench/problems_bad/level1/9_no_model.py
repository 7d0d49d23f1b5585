# reason: no_model
import torch
import torch.nn as nn

ROWS, COLUMNS = 64, 32


class Net(nn.Module):
    """The module has another name."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x)


def get_inputs():
    return [torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return []
