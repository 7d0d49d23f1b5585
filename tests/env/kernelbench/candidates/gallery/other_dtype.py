# problem: level1/3_row_softmax.py
# backend: cuda
# strict: FAIL_INCORRECT dtype | FAIL_INCORRECT
# comparable: any
# why: The right values in half the bytes.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1).half()
