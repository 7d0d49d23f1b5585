# expected: REJECT_POLICY torch_work
# says: aten.gt
# shapes: [({"x": "f32 16"}, {"y": "f32 16"}, {"n": 16})]
import torch
import triton
import triton.language as tl


def launch(x, n):
    return torch.zeros_like(x) if x[0] > 0 else torch.ones_like(x)
