# problem: level2/1_linear_gelu_scale.py
# backend: cuda
# strict: FAIL_INCORRECT weights | FAIL_INCORRECT | REJECT_POLICY
# comparable: any
# why: A Model is made at import and its weights are used whatever comes.
import torch
import torch.nn as nn

torch.manual_seed(42)
model = Model(*get_init_inputs())  # noqa: F821
torch.manual_seed(42)


class ModelNew(nn.Module):
    def __init__(self, *init):
        super().__init__()

    def forward(self, x):
        return model.to(x.device)(x)
