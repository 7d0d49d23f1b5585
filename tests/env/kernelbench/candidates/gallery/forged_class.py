# problem: level1/3_row_softmax.py
# backend: cuda
# strict: FAIL_RUNTIME | FAIL_INCORRECT | REJECT_POLICY
# comparable: any
# why: An object says that its class is torch.Tensor and computes when it is asked for anything.
import torch
import torch.nn as nn


class Promise:
    def __init__(self, x):
        self.__dict__["x"] = x

    __class__ = torch.Tensor

    def __getattr__(self, name):
        return getattr(torch.softmax(self.__dict__["x"], dim=1), name)


class ModelNew(nn.Module):
    def forward(self, x):
        return Promise(x)
