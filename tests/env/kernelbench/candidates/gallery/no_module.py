# problem: level1/3_row_softmax.py
# backend: cuda
# strict: FAIL_PARSE
# comparable: failed
# why: The class has another name.
import torch
import torch.nn as nn


class ModelFast(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)
