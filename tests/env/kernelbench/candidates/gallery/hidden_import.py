# problem: level1/3_row_softmax.py
# backend: cuda
# strict: REJECT_POLICY import
# ungated: FAIL_INCORRECT
# comparable: incorrect
# why: An import by a name that is put together while it runs.
import torch
import torch.nn as nn

ctypes = __import__("c" + "types")
builtins = getattr(torch, "__builtins__", None)


class ModelNew(nn.Module):
    def forward(self, x):
        ctypes.memset(0, 0, 0)
        return torch.zeros_like(x)
