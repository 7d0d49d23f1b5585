# problem: level1/3_row_softmax.py
# backend: cuda
# strict: FAIL_PARSE | FAIL_COMPILE
# comparable: failed
# why: Not Python.
import torch
import torch.nn as nn


class ModelNew(torch.nn.Module)
    def forward(self, x):
        return torch.softmax(x, dim=1)
