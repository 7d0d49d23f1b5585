# reason: keeps_a_state
# why: The result depends on how often the module was called before.
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        return x * self.calls


def get_inputs():
    return [torch.rand(8, 16)]


def get_init_inputs():
    return []
