# problem: level1/13_argmax_rows.py
# backend: cuda
# strict: FAIL_INCORRECT dtype | FAIL_INCORRECT
# comparable: any
# why: Places as floating point, where the reference gives integers.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.argmax(x, dim=1).float()
