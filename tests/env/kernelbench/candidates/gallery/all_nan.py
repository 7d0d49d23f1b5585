# problem: level1/3_row_softmax.py
# backend: cuda
# strict: FAIL_INCORRECT nan | FAIL_INCORRECT
# comparable: incorrect
# why: NaN compares as nothing at all, where a comparison asks for what is larger than a bound.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.full_like(x, float('nan'))
