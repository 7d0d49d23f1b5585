# problem: level1/3_row_softmax.py
# backend: cuda
# strict: REJECT_POLICY import
# ungated: FAIL_RUNTIME
# comparable: failed
# why: Imports what is not there.
import fast_softmax_kernels

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return fast_softmax_kernels.softmax(x)
