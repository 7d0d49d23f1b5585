# problem: level1/3_row_softmax.py
# backend: cuda
# strict: FAIL_RUNTIME | REJECT_POLICY
# comparable: failed
# why: The process dies while the module is made.
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <cstdlib>

void ends() { std::abort(); }
"""

extension = load_inline(name="aborts", cpp_sources=CPP, functions=["ends"])


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        extension.ends()

    def forward(self, x):
        return torch.softmax(x, dim=1)
