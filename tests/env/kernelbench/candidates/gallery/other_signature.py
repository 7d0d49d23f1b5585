# problem: level1/3_row_softmax.py
# backend: cuda
# strict: FAIL_RUNTIME
# comparable: failed
# why: Takes more than it is given.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x, mask):
        return torch.softmax(x, dim=1)
