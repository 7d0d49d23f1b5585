# problem: level1/3_row_softmax.py
# backend: cuda
# strict: PASS
# comparable: correct
# why: Right and slow is right.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        for _ in range(4):
            y = torch.softmax(x, dim=1)
        return y
