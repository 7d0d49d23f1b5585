# reason: does_not_fit
import torch
import torch.nn as nn

LENGTH = 2000000


class Model(nn.Module):
    """Little in and little out, and a table of all pairs between, which is 16 terabytes."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x[:, None] - x[None, :]).sum(dim=1)


def get_inputs():
    return [torch.randn(LENGTH)]


def get_init_inputs():
    return []
