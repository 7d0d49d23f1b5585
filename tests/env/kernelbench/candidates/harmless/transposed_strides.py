# problem: level1/3_row_softmax.py
# backend: cuda
# strict: FAIL_INCORRECT strides | FAIL_INCORRECT | PASS
# comparable: correct
# why: The right values with a transposed matrix's strides, which saves a kernel its slow writes; a copy within the timed call takes the gain.
# speedup_below: 1.15
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x.t().contiguous(), dim=0).t()
