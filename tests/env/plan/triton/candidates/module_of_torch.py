# expected: REJECT_POLICY torch_work
# shapes: [({"x": "f32 16 16"}, {"y": "f32 16 16"}, {"n": 16})]
import torch
import triton
import triton.language as tl


layer = torch.nn.Linear(16, 16, device="cuda")


def launch(x, n):
    return layer(x)
