# problem: level1/3_row_softmax.py
# backend: cuda
# strict: PASS
# comparable: correct
# why: More exact than the reference, and slower.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x.double(), dim=1).float()
