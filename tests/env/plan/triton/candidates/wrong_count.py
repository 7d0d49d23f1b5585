# expected: FAIL_PLAN output
# says: return y, z
# shapes: [({"x": "f32 16"}, {"y": "f32 16", "z": "f32 16"}, {"n": 16})]
import torch
import triton
import triton.language as tl


def launch(x, n):
    return torch.zeros_like(x)
