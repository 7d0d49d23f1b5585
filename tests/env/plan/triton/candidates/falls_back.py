# expected: REJECT_POLICY torch_work
# says: aten.mm
# shapes: [({"x": "f32 16 16", "w": "f32 16 16"}, {"y": "f32 16 16"}, {"n": 16})]
import torch
import triton
import triton.language as tl


def launch(x, w, n):
    return torch.matmul(x, w)
