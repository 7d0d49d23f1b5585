# problem: level1/3_row_softmax.py
# backend: cuda
# strict: FAIL_INCORRECT | FAIL_RUNTIME
# comparable: any
# why: More results than the reference has.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.softmax(x, dim=1)
        return y, y
