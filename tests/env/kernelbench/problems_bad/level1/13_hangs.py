# reason: hangs
import torch
import torch.nn as nn

ROWS, COLUMNS = 64, 32


class Model(nn.Module):
    """Never comes back."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        while True:
            x = torch.relu(x)


def get_inputs():
    return [torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return []
