# problem: level1/3_row_softmax.py
# backend: cuda
# strict: PASS
# comparable: correct
# why: Memory is kept from call to call, and written anew in each.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.scratch = {}

    def forward(self, x):
        key = (x.shape, x.device)
        if key not in self.scratch:
            self.scratch[key] = torch.empty_like(x)
        y = self.scratch[key]
        torch.softmax(x, dim=1, out=y)
        return y
