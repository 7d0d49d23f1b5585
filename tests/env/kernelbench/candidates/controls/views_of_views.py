# problem: level1/3_row_softmax.py
# backend: cuda
# strict: PASS
# comparable: correct
# why: Views of other shapes and strides on the way, and a contiguous result.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        turned = x.view(rows, 1, columns).transpose(0, 2).squeeze(1)
        flat = torch.as_strided(turned, (rows, columns), (columns, 1))
        top = flat.unflatten(1, (1, columns)).amax(dim=2)
        weight = torch.exp(flat - top)
        return (weight.t() / weight.sum(dim=1)).t().contiguous()
