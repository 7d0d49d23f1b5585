# problem: level1/3_row_softmax.py
# backend: cuda
# strict: FAIL_RUNTIME
# comparable: failed
# why: A call of itself.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return self(x)
