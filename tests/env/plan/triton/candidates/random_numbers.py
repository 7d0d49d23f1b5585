# expected: REJECT_POLICY torch_work
# says: aten.randn
# shapes: [({"x": "f32 16"}, {"y": "f32 16"}, {"n": 16})]
import torch
import triton
import triton.language as tl


def launch(x, n):
    return torch.randn(n, device=x.device)
