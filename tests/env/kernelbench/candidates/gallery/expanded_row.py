# problem: level1/3_row_softmax.py
# backend: cuda
# strict: FAIL_INCORRECT strides | FAIL_INCORRECT
# comparable: incorrect
# why: All rows are one row, by a stride of zero.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x[:1], dim=1).expand(x.shape)
