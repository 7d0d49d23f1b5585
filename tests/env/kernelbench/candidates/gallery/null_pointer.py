# problem: level1/3_row_softmax.py
# backend: cuda
# strict: FAIL_RUNTIME | REJECT_POLICY
# comparable: failed
# why: The process dies of a signal.
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
torch::Tensor dies(torch::Tensor x) {
  *reinterpret_cast<volatile int*>(8) = 1;
  return x;
}
"""

extension = load_inline(name="dies", cpp_sources=CPP, functions=["dies"])


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.dies(x)
