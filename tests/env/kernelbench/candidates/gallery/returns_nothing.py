# problem: level1/3_row_softmax.py
# backend: cuda
# strict: FAIL_RUNTIME | FAIL_INCORRECT
# comparable: failed
# why: None is no tensor.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        torch.softmax(x, dim=1)
