import torch
import torch.nn as nn

BATCH, IN_FEATURES, OUT_FEATURES = 50, 72, 90
SCALE = 0.75


class Model(nn.Module):
    """A linear layer, GELU, and a factor."""

    def __init__(self, in_features: int, out_features: int, scale: float):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.scale = scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.gelu(self.linear(x)) * self.scale


def get_inputs():
    return [torch.randn(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, SCALE]
