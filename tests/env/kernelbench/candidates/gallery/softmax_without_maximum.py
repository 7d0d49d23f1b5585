# problem: level1/3_row_softmax.py
# backend: cuda
# strict: FAIL_INCORRECT
# comparable: any
# why: The exponentials overflow where a row has a large value, as in some draws and none of KernelBench's.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        weight = torch.exp(x)
        return weight / weight.sum(dim=1, keepdim=True)
