# problem: level1/3_row_softmax.py
# backend: cuda
# strict: REJECT_POLICY | FAIL_RUNTIME | FAIL_INCORRECT
# comparable: any
# why: The child goes on as the candidate, the parent says nothing more.
# needs: box
import os

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        if os.fork() == 0:
            return torch.zeros_like(x)
        os.wait()
        return torch.zeros_like(x)
