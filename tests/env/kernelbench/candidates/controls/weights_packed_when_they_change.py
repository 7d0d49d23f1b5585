# problem: level2/1_linear_gelu_scale.py
# backend: cuda
# strict: PASS
# comparable: correct
# why: Packs the weights again when they have been written.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features, scale):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.scale = scale
        self.version, self.packed = None, None

    def forward(self, x):
        weight = self.linear.weight
        version = (weight._version, weight.data_ptr())
        if version != self.version:
            self.version, self.packed = version, weight.detach().t().contiguous()
        return nn.functional.gelu(torch.addmm(self.linear.bias, x, self.packed)) * self.scale
