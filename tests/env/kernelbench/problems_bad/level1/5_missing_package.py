# reason: missing_package
import torch
import torch.nn as nn
from no_such_package_of_kernels import rearrange

ROWS, COLUMNS = 64, 32


class Model(nn.Module):
    """Needs a package that nobody has."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return rearrange(x, "a b -> b a")


def get_inputs():
    return [torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return []
