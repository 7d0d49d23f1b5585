# problem: level1/2_weighted_sum_relu.py
# backend: cuda
# strict: PASS
# comparable: correct
# why: Takes its inputs in a list and by name.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, *init, **more):
        super().__init__()
        self.factors = init

    def forward(self, *inputs, **more):
        return sum(factor * one for factor, one in zip(self.factors, inputs)).clamp_(min=0)
