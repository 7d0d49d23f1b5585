# problem: level1/3_row_softmax.py
# backend: cuda
# strict: FAIL_RUNTIME | FAIL_INCORRECT | REJECT_POLICY
# comparable: any
# why: A tensor that says yes to every comparison.
import torch
import torch.nn as nn


class Agrees(torch.Tensor):
    @classmethod
    def __torch_function__(kind, function, types, given=(), more=None):
        if getattr(function, "__name__", "") in ("allclose", "isclose", "equal", "eq"):
            return torch.tensor(True)
        return super().__torch_function__(function, types, given, more or {})


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x).as_subclass(Agrees)
