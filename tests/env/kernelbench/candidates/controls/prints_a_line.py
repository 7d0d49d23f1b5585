# problem: level1/3_row_softmax.py
# backend: cuda
# strict: PASS
# comparable: correct
# why: Says what it does, once.
import torch
import torch.nn as nn

print('softmax by rows')


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)
