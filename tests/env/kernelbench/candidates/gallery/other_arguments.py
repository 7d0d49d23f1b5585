# problem: level2/1_linear_gelu_scale.py
# backend: cuda
# strict: FAIL_RUNTIME
# comparable: failed
# why: Cannot be made from what the problem gives.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        return nn.functional.gelu(self.linear(x)) * 0.75
