# expected: FAIL_PLAN parameters
# says: launch(x, n)
# shapes: [({"x": "f32 16"}, {"y": "f32 16"}, {"n": 16})]
import torch
import triton
import triton.language as tl


def launch(x, n, m):
    return torch.zeros_like(x)
