import torch
import torch.nn as nn

BATCH, WIDTH, HIDDEN, CLASSES = 21, 48, 70, 33


class Model(nn.Module):
    """Three linear layers with ReLU between them."""

    def __init__(self, width: int, hidden: int, classes: int):
        super().__init__()
        self.first = nn.Linear(width, hidden)
        self.second = nn.Linear(hidden, hidden)
        self.last = nn.Linear(hidden, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.first(x))
        x = torch.relu(self.second(x))
        return self.last(x)


def get_inputs():
    return [torch.randn(BATCH, WIDTH) * 2]


def get_init_inputs():
    return [WIDTH, HIDDEN, CLASSES]
