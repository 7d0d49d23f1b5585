import torch
import torch.nn as nn

ROWS, COLUMNS = 1024, 262144


class Model(nn.Module):
    """Softmax of wide rows of nearly equal values: nothing in the result is above 1e-5, so zeros are close to it."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, dim=1)


def get_inputs():
    return [torch.rand(ROWS, COLUMNS)]


def get_init_inputs():
    return []
