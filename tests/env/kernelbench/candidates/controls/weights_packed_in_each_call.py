# problem: level2/1_linear_gelu_scale.py
# backend: cuda
# strict: PASS
# comparable: correct
# why: Packs the weights it was given in every call.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features, scale):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.scale = scale

    def forward(self, x):
        packed = torch.cat([self.linear.weight.t(), self.linear.bias[None]]).contiguous()
        return nn.functional.gelu(torch.addmm(packed[-1], x, packed[:-1])) * self.scale
