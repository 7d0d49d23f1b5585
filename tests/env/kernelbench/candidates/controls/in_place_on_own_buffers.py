# problem: level1/3_row_softmax.py
# backend: cuda
# strict: PASS
# comparable: correct
# why: Works in place on memory that it asked for.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        torch.sub(x, x.amax(dim=1, keepdim=True), out=y)
        y.exp_()
        y.div_(y.sum(dim=1, keepdim=True))
        return y
