import torch
import torch.nn as nn

BATCH, IN_FEATURES, OUT_FEATURES = 37, 80, 66


class Model(nn.Module):
    """Two linear layers, one of them the other's gate."""

    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.gate = nn.Linear(in_features, out_features)
        self.value = nn.Linear(in_features, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(self.gate(x)) * self.value(x)


def get_inputs():
    return [torch.randn(BATCH, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES]
