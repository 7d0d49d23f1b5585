# problem: level1/3_row_softmax.py
# backend: cuda
# strict: REJECT_POLICY | FAIL_RUNTIME | FAIL_INCORRECT
# comparable: any
# why: Each child makes children.
# needs: box
import os

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        for _ in range(8):
            os.fork()
        return torch.zeros_like(x)
