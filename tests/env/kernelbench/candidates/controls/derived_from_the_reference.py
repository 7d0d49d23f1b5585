# problem: level2/1_linear_gelu_scale.py
# backend: cuda
# strict: PASS
# comparable: correct
# why: Takes the problem's own class and changes how it computes.
import torch
import torch.nn as nn


class ModelNew(Model):  # noqa: F821
    def forward(self, x):
        y = nn.functional.linear(x, self.linear.weight, self.linear.bias)
        return y.mul(torch.special.ndtr(y)).mul_(self.scale)
