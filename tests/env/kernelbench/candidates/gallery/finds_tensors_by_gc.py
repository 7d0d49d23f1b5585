# problem: level1/3_row_softmax.py
# backend: cuda
# strict: REJECT_POLICY import
# ungated: FAIL_INCORRECT
# comparable: incorrect
# why: Looks among all objects for a tensor that might be what is expected.
import gc

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        for one in gc.get_objects():
            if type(one) is torch.Tensor and one.shape == x.shape and one.data_ptr() != x.data_ptr():
                return one.clone()
        return torch.zeros_like(x)
