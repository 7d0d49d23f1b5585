# problem: level1/3_row_softmax.py
# backend: cuda
# strict: FAIL_RUNTIME | FAIL_INCORRECT | REJECT_POLICY
# comparable: any
# why: One element in a class that says it has the right shape and type.
import torch
import torch.nn as nn


class Claims(torch.Tensor):
    wanted = None

    @property
    def shape(self):
        return Claims.wanted

    def size(self, *at):
        return Claims.wanted[at[0]] if at else Claims.wanted

    def stride(self, *at):
        return (Claims.wanted[1], 1)


class ModelNew(nn.Module):
    def forward(self, x):
        Claims.wanted = x.shape
        return torch.zeros(1, device=x.device).as_subclass(Claims)
